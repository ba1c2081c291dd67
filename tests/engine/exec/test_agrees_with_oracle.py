"""Whatever access path a read takes, it gives the rows of an oracle that tries everything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import QueryTypeError
from omnigraph.exec.columns import id_dictionary
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.plan import plan_read
from omnigraph.exec.run.run_read import run_read
from omnigraph.query import compile_query
from omnigraph.query.logical.logical_plan import ReadPlan
from oracle.naive import evaluate
from oracle.plain import plain_snapshot
from oracle.towns import RandomRead, random_graph

READS = 40


def bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in rows)


@pytest.mark.parametrize("seed", range(6))
def test_random_reads_agree(
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshot = random_graph(tmp_path, seed).snapshot()
    plain = plain_snapshot(snapshot)
    modes: tuple[Mode, ...] = ("csr", "indexed")
    contexts = [ExecContext(mode=mode) for mode in modes]
    for number in range(READS):
        text = RandomRead(1000 * seed + number).text()
        try:
            query = compile_query(text, snapshot.catalog)
        except QueryTypeError:
            continue
        assert isinstance(query.ir, ReadPlan)
        expected = bag(evaluate(query.ir, plain, {}))
        for context in contexts:
            for many in (0, 10**9):
                monkeypatch.setattr(plan_read, "MANY_ROWS", many)
                monkeypatch.setattr(id_dictionary, "MAPPED_UP_TO", many)
                table = run_read(snapshot, query, None, context=context).to_arrow()
                columns = [column.to_pylist() for column in table.columns]
                found = bag(list(zip(*columns, strict=True)))
                assert found == expected, (text, context.mode, many)


def test_most_random_reads_compile(tmp_path: Path) -> None:
    catalog = random_graph(tmp_path, 0).snapshot().catalog
    fine = 0
    for number in range(200):
        try:
            compile_query(RandomRead(number).text(), catalog)
            fine += 1
        except QueryTypeError:
            pass
    assert fine > 120
