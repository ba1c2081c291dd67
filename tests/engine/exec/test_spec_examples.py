"""The read examples of the language reference, run against real graphs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from engine.query.cases import EXAMPLES, Case, cases
from omnigraph.api.graph import Graph
from omnigraph.common.json_values import json_value
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.run.run_read import run_read
from omnigraph.query.logical.logical_plan import ReadPlan

READS = [case for case in cases() if "rows" in case.expectations]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Graph]]:
    found = {}
    for schema in sorted({case.schema for case in READS}):
        root = tmp_path_factory.mktemp(schema)
        graph = omnigraph.init(str(root), (EXAMPLES / f"{schema}.pg").read_text("utf-8"))
        data = Path(EXAMPLES / f"{schema}.jsonl")
        if data.exists():
            graph.load(data.read_bytes())
        found[schema] = graph
    yield found


@pytest.mark.parametrize("case", READS, ids=lambda case: f"{case.schema}: {case.title}")
def test_an_example_gives_the_rows_written(case: Case, graphs: dict[str, Graph]) -> None:
    query = case.compile()
    assert isinstance(query.ir, ReadPlan)
    params = json.loads(case.expectations.get("params", "null"))
    result = run_read(graphs[case.schema].snapshot(), query, params, context=ExecContext())
    table = result.to_arrow()
    columns = [[json_value(v) for v in column.to_pylist()] for column in table.columns]
    found = [rounded(row) for row in zip(*columns, strict=True)]
    expected = [rounded(row) for row in json.loads(case.expectations["rows"])]
    if case.expectations.get("ordered") == "yes":
        assert found == expected
    else:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


def rounded(row: Any) -> list[Any]:  # noqa: ANN401
    return [round(value, 6) if isinstance(value, float) else value for value in row]
