"""Rows given to a transaction or a load as Python or Arrow values: all of them, or an error."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ConstraintViolation, InvalidInput, KeyConflict, LoadError, NotFound
from support.graphs import ids, refused, rows

SCHEMA = """
node P { tag: String @key  n: I32?  ok: enum(a, b)?  v: Vector(2)?  l: [I32]?  b: Blob?
         d: Date?  t: DateTime?  u: U64? }
node Q { s: String? }
edge E: P -> P { w: F64? }
"""


@pytest.fixture
def graph(root: str) -> omnigraph.Graph:
    return omnigraph.init(root, SCHEMA)


def write(graph: omnigraph.Graph, type_name: str, given: Any, how: str = "insert") -> Any:  # noqa: ANN401
    with graph.transaction() as t:
        getattr(t, how)(type_name, given)
    return t.commit


def test_rows_need_not_name_the_same_properties(graph: omnigraph.Graph) -> None:
    write(graph, "P", [{"tag": "a"}, {"tag": "b", "n": 3}, {"l": [1], "tag": "c"}])
    found = rows(graph, "P", columns=["id", "n", "l"])
    assert found == [
        {"id": "a", "n": None, "l": None},
        {"id": "b", "n": 3, "l": None},
        {"id": "c", "n": None, "l": [1]},
    ]


def test_a_row_without_any_property_is_a_row(graph: omnigraph.Graph) -> None:
    write(graph, "Q", [{}, {"s": "x"}, {}])
    write(graph, "Q", [{}])
    assert sorted(str(row["s"]) for row in rows(graph, "Q")) == ["None", "None", "None", "x"]
    refused(graph, LoadError, lambda: write(graph, "P", [{}]))


def test_plain_values_of_every_type_are_stored(graph: omnigraph.Graph) -> None:
    row = {
        "tag": "a",
        "n": -1,
        "ok": "b",
        "v": [0.5, 1.0],
        "l": [],
        "b": b"\x00",
        "d": dt.date(2024, 1, 1),
        "t": dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC),
        "u": 2**64 - 1,
    }
    write(graph, "P", [row])
    assert rows(graph, "P") == [{"id": "a", **row}]


@pytest.mark.parametrize(
    "given",
    [
        [{"tag": 5}],
        [{"tag": None}],
        [{"n": 1}],
        [{"tag": "c", "n": "5"}],
        [{"tag": "c", "n": 1.5}],
        [{"tag": "c", "n": 2**40}],
        [{"tag": "c", "n": 2**100}],
        [{"tag": "c", "n": 1}, {"tag": "d", "n": "x"}],
        [{"tag": "c", "nope": 1}],
        [{"tag": "c", "id": "other"}],
        [{"tag": "c", "v": [1.0]}],
        [{"tag": "c", "v": [1.0, float("nan")]}],
        [{"tag": "c", "l": [1, None]}],
        [{"tag": "c", "n": object()}],
        [{"tag": "c", 7: 1}],
        [1, 2],
        "abc",
        b"abc",
        None,
        7,
        {"tag": "c"},
    ],
)
@pytest.mark.parametrize("how", ["insert", "upsert", "overwrite"])
def test_wrong_rows_are_refused(graph: omnigraph.Graph, given: Any, how: str) -> None:  # noqa: ANN401
    write(graph, "P", [{"tag": "a"}])
    refused(graph, InvalidInput, lambda: write(graph, "P", given, how))


def test_edges_name_their_ends_either_way(graph: omnigraph.Graph) -> None:
    write(graph, "P", [{"tag": "a"}, {"tag": "b"}])
    write(graph, "E", [{"id": "1", "from": "a", "to": "b"}])
    write(graph, "e", [{"id": "2", "src": "b", "dst": "a", "w": 1}])
    ends = [(row["src"], row["dst"]) for row in rows(graph, "E")]
    assert ends == [("a", "b"), ("b", "a")]
    refused(graph, LoadError, lambda: write(graph, "E", [{"src": "a"}]))
    refused(graph, ConstraintViolation, lambda: write(graph, "E", [{"src": "a", "dst": "z"}]))


@pytest.mark.parametrize(
    "given",
    [
        pa.table({"tag": ["a", "b"]}),
        pa.record_batch({"tag": ["a", "b"]}),
        pa.table({"tag": pa.chunked_array([["a"], [], ["b"]])}),
        pa.table({"tag": pa.array(["a", "b"], pa.large_string())}),
        pa.table({"tag": pa.array(["a", "b"]).dictionary_encode()}),
    ],
)
def test_arrow_comes_in_any_form(graph: omnigraph.Graph, given: Any) -> None:  # noqa: ANN401
    write(graph, "P", given)
    assert ids(graph, "P") == ["a", "b"]


def test_a_reader_is_read_to_its_end(graph: omnigraph.Graph) -> None:
    batches = [pa.record_batch({"tag": [f"{n}"]}) for n in range(5)]
    write(graph, "P", pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)))
    assert ids(graph, "P") == ["0", "1", "2", "3", "4"]


def test_overwriting_with_nothing_empties_a_type(graph: omnigraph.Graph) -> None:
    write(graph, "P", [{"tag": "a"}])
    forms: tuple[Any, ...] = ([], pa.table({"tag": pa.array([], pa.string())}))
    for nothing in forms:
        write(graph, "P", nothing, "overwrite")
        assert ids(graph, "P") == []
        write(graph, "P", [{"tag": "a"}])


def test_several_types_load_in_one_commit(graph: omnigraph.Graph) -> None:
    before = len(graph.commits())
    result = graph.load(
        {
            "E": pa.table({"id": ["e"], "from": ["a"], "to": ["b"]}),
            "P": pa.table({"tag": ["a", "b"]}),
        }
    )
    assert (result.nodes, result.edges, result.total_entities) == ({"P": 2}, {"E": 1}, 3)
    assert len(graph.commits()) == before + 1
    assert graph.verify(rules=True).ok


def test_a_load_of_arrow_needs_a_type_that_is_there(graph: omnigraph.Graph) -> None:
    table = pa.table({"tag": ["a"]})
    assert graph.load(table, type="P").nodes == {"P": 1}
    refused(graph, KeyConflict, lambda: graph.load(table, type="P", mode="append"))
    refused(graph, InvalidInput, lambda: graph.load(table))
    refused(graph, NotFound, lambda: graph.load(table, type="Nope"))


@pytest.mark.parametrize("source", [None, 5, [], [{"tag": "x"}], object()])
def test_what_is_no_input_is_refused(graph: omnigraph.Graph, source: Any) -> None:  # noqa: ANN401
    for type_name in (None, "P"):
        refused(
            graph,
            InvalidInput,
            lambda type_name=type_name: graph.load(source, type=type_name),  # type: ignore[misc]
        )


def test_of_two_overwrites_in_one_transaction_the_later_one_counts(graph: omnigraph.Graph) -> None:
    with graph.transaction() as t:
        t.overwrite("P", [{"tag": "a"}])
        t.overwrite("P", [{"tag": "b"}, {"tag": "c"}])
        t.upsert("P", [{"tag": "d"}])
    assert ids(graph, "P") == ["b", "c", "d"]
    with graph.transaction() as t:
        t.overwrite("P", [{"tag": "e"}])
        t.overwrite("P", [])
    assert ids(graph, "P") == []
