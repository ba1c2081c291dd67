"""Large sorts run in DataFusion: the same total order as in memory, within a bound of memory."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.errors import InvalidInput, StorageError
from omnigraph.exec.evaluate.sort_keys import SortKey, SortOrder
from omnigraph.exec.graph.bindings import Bindings
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.graph.graph_view import EntitySet
from omnigraph.exec.run import external_sort

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), -1, 0, 1])
FLOATS = st.floats() | st.sampled_from([math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf])
TEXTS = st.text(max_size=4) | st.sampled_from(["", "a", "é", "\U0001f40d", "\uffff", "z"])
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), INTEGERS),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.int32(), st.integers(-3, 3)),
    (pa.float64(), FLOATS),
    (pa.float32(), st.floats(width=32)),
    (pa.string(), TEXTS),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", "UTC"), st.integers(-(2**50), 2**50)),
]


class Named:
    """Entities of which only the ids matter."""

    def __init__(self, names: pa.Array) -> None:
        self._names = names

    def ids(self, handles: Any) -> pa.Array:  # noqa: ANN401
        return self._names.take(pa.array(handles))


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[tuple[pa.Array, bool]], int]:
    count = draw(st.integers(1, 40))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        type_, strategy = draw(st.sampled_from(KINDS))
        column = draw(st.lists(st.none() | strategy, min_size=count, max_size=count))
        found.append((pa.array(column, type_), draw(st.booleans())))
    return found, count


@settings(max_examples=150, deadline=None)
@given(columns(), st.integers(1, 50), st.none() | st.integers(0, 50), st.randoms())
def test_many_rows_are_in_the_order_of_few(
    given_columns: tuple[list[tuple[pa.Array, bool]], int],
    size: int,
    limit: int | None,
    rng: random.Random,
) -> None:
    arrays, count = given_columns
    ids = [f"{rng.choice('aé')}{n}" for n in range(count)]
    entities: Any = Named(pa.array(ids))
    ties: list[tuple[str, EntitySet]] = [("x", entities)]
    keys = [SortKey(_values_of(array), descending) for array, descending in arrays]
    order = SortOrder(keys, ties)
    rows = Bindings({"x": np.arange(count, dtype=np.int32)}, count)

    def ordered(in_memory: int) -> list[int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(external_sort, "SORTED_IN_MEMORY", in_memory)
            patch.setattr(external_sort, "BATCH", 7)
            parts = external_sort.in_order(rows.chunks(size), order, limit)
            return [h for part in parts if part.count for h in part["x"].tolist()]

    assert ordered(0) == ordered(1000)


def _values_of(array: pa.Array) -> Any:  # noqa: ANN401
    return lambda rows: array.take(pa.array(rows["x"]))


# --------------------------------------------------------------------------- in a graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("sorting")
    graph = omnigraph.init(
        str(root),
        "node P { k: String @key n: I32? x: F64? s: String? l: [I32]? }\nedge E: P -> P { w: I32 }",
    )
    rng = random.Random(5)
    with graph.transaction() as txn:
        txn.insert(
            "P",
            [
                {
                    "k": f"p{i:03}",
                    "n": rng.choice([None, -1, 0, 1]),
                    "x": rng.choice([None, -0.0, 0.0, 1.5]),
                    "s": rng.choice([None, "", "a", "é"]),
                    "l": rng.choice([None, [], [1], [1, 2]]),
                }
                for i in range(80)
            ],
        )
        txn.insert(
            "E",
            [
                {"src": f"p{rng.randrange(80):03}", "dst": f"p{rng.randrange(80):03}", "w": i % 2}
                for i in range(300)
            ],
        )
    return graph


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every sort runs in DataFusion; gives how many did."""
    ran: list[int] = []
    real = external_sort._by_datafusion

    def watched(*args: Any) -> Any:  # noqa: ANN401
        ran.append(1)
        return real(*args)

    monkeypatch.setattr(external_sort, "SORTED_IN_MEMORY", 0)
    monkeypatch.setattr(external_sort, "_by_datafusion", watched)
    yield ran


READS = [
    "match { $p: P } return { $p.k } order { $p.n desc, $p.s }",
    "match { $p: P } return { $p.k } order { $p.x } limit 20",
    "match { $a $w:e $b } return { $a.k, $b.k, $w.w } order { $w.w desc, $b.s }",
    "match { $a e{1,2} $b } return { $a.k, $b.k } order { $a.x, $b.n desc }",
    'match { $p: P { k: "nobody" } } return { $p.k } order { $p.n }',
]


@pytest.mark.parametrize("mode", ["csr", "indexed"])
@pytest.mark.parametrize("body", READS)
def test_a_read_has_the_same_rows_in_the_same_order(
    graph: Graph, spilling: list[int], monkeypatch: pytest.MonkeyPatch, body: str, mode: Mode
) -> None:
    found = values(read(graph, body, context=ExecContext(mode=mode)))
    assert bool(spilling) == bool(found)
    monkeypatch.setattr(external_sort, "SORTED_IN_MEMORY", 10**9)
    assert found == values(read(graph, body, context=ExecContext(mode=mode)))


def test_an_error_of_the_match_comes_out_as_it_was(
    graph: Graph, spilling: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = external_sort._batch
    seen: list[int] = []

    def failing(*args: Any) -> pa.RecordBatch:  # noqa: ANN401
        seen.append(1)
        if len(seen) == 3:
            raise InvalidInput("no more")
        return real(*args)

    monkeypatch.setattr(external_sort, "BATCH", 10)
    monkeypatch.setattr(external_sort, "_batch", failing)
    with pytest.raises(InvalidInput, match="no more"):
        read(graph, READS[0]).to_arrow()
    assert spilling


# --------------------------------------------------------------------------- memory


def many(count: int) -> tuple[Iterator[Bindings], SortOrder]:
    rng = np.random.default_rng(1)
    numbers = pa.array(rng.integers(0, count // 10, count))
    entities: Any = Named(pa.array(rng.permutation(count).astype(str)))
    rows = Bindings({"x": np.arange(count, dtype=np.int32)}, count)
    order = SortOrder([SortKey(_values_of(numbers), True)], [("x", entities)])
    return rows.chunks(1 << 16), order


@pytest.mark.slow
def test_what_does_not_fit_in_memory_goes_to_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    count = 1_200_000
    monkeypatch.setattr(external_sort, "SORTED_IN_MEMORY", 10**9)
    expected = [
        h for part in external_sort.in_order(*many(count), None) for h in part["x"].tolist()
    ]
    monkeypatch.setattr(external_sort, "SORTED_IN_MEMORY", 0)
    monkeypatch.setattr(external_sort, "SORT_BYTES", 24 << 20)
    found = [h for part in external_sort.in_order(*many(count), None) for h in part["x"].tolist()]
    assert found == expected
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(StorageError, match="could not be sorted") as caught:
        list(external_sort.in_order(*many(count), None))
    assert "TMPDIR" in str(caught.value.hint)
