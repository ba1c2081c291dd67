"""`verify --deep` compares indexes with the rows they were built from, and trusts none."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.tables.compare_index import EntrySum, index_problems

SCHEMA = """
node Thing {
    name: String @key
    text: String? @index
    small: I32? @index
    large: U64? @index
    share: F64? @index
    flag: Bool? @index
    day: Date? @index
    moment: DateTime? @index
}
"""

TEXTS = ["", "the", "sea and sun", "ä", None, "x" * 9000, "   "]


def thing(number: int) -> dict[str, Any]:
    known = number % 3 > 0
    return {
        "name": f"t{number}",
        "text": TEXTS[number % len(TEXTS)],
        "small": number - 50 if known else None,
        "large": 2**64 - 1 - number if known else None,
        "share": -0.0 if number % 7 == 0 else number / 3,
        "flag": number % 2 == 0 if known else None,
        "day": date(1969, 1, 1 + number % 28) if known else None,
        "moment": datetime(2024, 1, 1, 0, 0, number % 60, number, UTC) if known else None,
    }


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Rows of all kinds, indexed; some were deleted and replaced since, some are not covered."""
    graph = omnigraph.init(str(tmp_path / "graph"), SCHEMA)
    with graph.transaction() as txn:
        txn.upsert("Thing", [thing(number) for number in range(400)])
    graph.optimize()
    with graph.transaction() as txn:
        txn.delete("Thing", [f"t{number}" for number in range(0, 400, 9)])
        txn.upsert("Thing", [thing(number) | {"small": 7} for number in range(1, 20)])
    return graph


def test_indexes_of_every_type_agree_also_after_later_writes(graph: Graph) -> None:
    version = graph._store.head("main").tables["node:Thing"].address
    assert len(graph._store.tables.index_names(version)) > 6
    assert list(index_problems(graph._store.tables, version)) == []
    assert graph.verify(deep=True).ok


def test_an_index_of_other_rows_is_told(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are whole, and the index is wrong: as a writer with a defect would leave it."""
    tables = graph._store.tables
    with graph.transaction() as txn:
        txn.upsert("Thing", [thing(number) | {"small": 1000 + number} for number in range(400)])
    graph.optimize()
    version = graph._store.head("main").tables["node:Thing"].address
    files = tables.segment_files
    segments = {
        index.name: index.segments[0].uuid
        for index in tables.handle(version).dataset.describe_indices()
    }

    def swapped(at: Any, segment: str) -> list[StoredFile]:  # noqa: ANN401
        other = segments["large_btree"] if segment == segments["small_btree"] else segment
        return files(at, other)

    monkeypatch.setattr(tables, "segment_files", swapped)
    (problem,) = index_problems(tables, version)
    assert "small_btree" in problem


def test_sums_do_not_depend_on_order_and_tell_every_value_apart() -> None:
    def of(values: list[str | None], addresses: list[int]) -> EntrySum:
        result = EntrySum()
        result.add(pa.array(values, pa.string()), np.array(addresses, np.uint64))
        return result

    base = of(["a", None, "", "long" * 3000], [1, 2, 3, 4])
    assert of(["long" * 3000, "", None, "a"], [4, 3, 2, 1]) == base
    assert of(["a", "", None, "long" * 3000], [1, 2, 3, 4]) != base
    assert of(["a", None, "", "long" * 2999 + "lonh"], [1, 2, 3, 4]) != base
    assert of(["b", None, "", "long" * 3000], [1, 2, 3, 4]) != base
    assert of(["a", None, "", "long" * 3000], [1, 2, 3, 5]) != base
