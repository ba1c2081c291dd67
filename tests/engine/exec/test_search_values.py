"""Search and ranking calls where a value can stand: in filters, blocks, columns and aggregates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.errors import QueryTypeError
from omnigraph.exec.graph.exec_context import ExecContext, Mode

NOTES: list[dict[str, Any]] = [
    {"slug": "n1", "body": "red kite over the marsh", "word": "kite", "vec": [0, 0], "n": 1},
    {"slug": "n2", "body": "kite festival", "word": "marsh", "vec": [1, 0], "n": 2},
    {"slug": "n3", "body": "marsh birds", "word": "Birds!", "vec": [2, 0], "n": 3},
    {"slug": "n4", "body": "red marsh red marsh", "word": None, "vec": None, "n": 4},
    {"slug": "n5", "body": None, "word": "red", "vec": [3, 0], "n": 5},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("values")
    graph = omnigraph.init(
        str(root),
        "node Note { slug: String @key  body: String?  word: String?  vec: Vector(2)?  n: I32 }\n"
        "node Memo { slug: String @key  body: String?  vec: Vector(2)? }\n"
        "edge Ref: Note -> Note\nedge Has: Note -> Memo",
    )
    with graph.transaction() as txn:
        txn.insert("Note", NOTES)
        txn.insert("Memo", [{"slug": "m1", "body": "a marsh", "vec": [9, 0]}])
        ends = [("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n4")]
        txn.insert("Ref", [{"src": a, "dst": b} for a, b in ends])
        txn.insert("Has", [{"src": "n1", "dst": "m1"}])
    return graph


@pytest.mark.parametrize("mode", ["indexed", "csr"])
@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("nearest($n.vec, [0, 0]) < 1.5", ["n1", "n2"]),
        # A null vector has no distance, and null satisfies nothing.
        ("nearest($n.vec, [0, 0]) != 1.0", ["n1", "n3", "n5"]),
        ("not { nearest($n.vec, [0, 0]) >= 0.0 }", ["n4"]),
        ("not { $n ref $m  nearest($m.vec, [2, 0]) < 0.5 }", ["n1", "n3", "n4", "n5"]),
        ('not { $n ref $m  bm25($m.body, "marsh") > 0.0 }', ["n1", "n5"]),
        ('search($n.body, "kite") = false', ["n3", "n4", "n5"]),
        # One name in two blocks, of two types.
        (
            "not { $n ref $m  nearest($m.vec, [1, 0]) < 0.5 } "
            "not { $n has $m  nearest($m.vec, [1, 0]) < 0.5 }",
            ["n2", "n3", "n4", "n5"],
        ),
        # The text to look for may be a property: each row has its own.
        ("search($n.body, $n.word)", ["n1", "n3"]),
        ('$m: Note { slug: "n1" }  match_text($n.body, $m.word)', ["n1", "n2"]),
        ('$m: Note { slug: "n4" }  search($n.body, $m.word)', []),
        ("fuzzy($n.body, $n.word, 1)", ["n1", "n3"]),
        ("not { search($n.body, $n.word) }", ["n2", "n4", "n5"]),
    ],
)
def test_as_a_condition(graph: Graph, match: str, expected: list[str], mode: Mode) -> None:
    body = f"match {{ $n: Note  {match} }} return {{ $n.slug }} order {{ $n.slug }}"
    assert values(read(graph, body, context=ExecContext(mode=mode))) == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("count(nearest($n.vec, [3, 0]))", 4),
        ("avg(nearest($n.vec, [3, 0]))", 1.5),
        ("min(nearest($n.vec, [3, 4]))", 4.0),
        ('count(search($n.body, "kite"))', 5),
        ('min(bm25($n.body, "kite"))', 0.0),
    ],
)
def test_inside_an_aggregate(graph: Graph, item: str, expected: float) -> None:
    assert values(read(graph, f"match {{ $n: Note }} return {{ {item} as x }}")) == [expected]


def test_a_filter_by_distance_goes_with_an_aggregate(graph: Graph) -> None:
    body = "match { $n: Note  nearest($n.vec, [0, 0]) < 1.5 } return { count($n) as n }"
    assert values(read(graph, body)) == [2]


def test_the_distance_of_a_null_vector_is_null(graph: Graph) -> None:
    body = 'match { $n: Note { slug: "n4" } } return { nearest($n.vec, [0, 0]) as d }'
    result = read(graph, body)
    assert result.schema.field("d").nullable
    assert result.rows() == [{"d": None}]


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("bm25($n.body, $n.word)", "T20"),
        ("nearest($n.vec, $n.vec)", "T15"),
        ("nearest($n.vec, $n.word)", "T15"),
        ('fuzzy($n.body, "x", $n.n)', "T19"),
    ],
)
def test_what_differs_from_row_to_row_cannot_rank(graph: Graph, item: str, code: str) -> None:
    with pytest.raises(QueryTypeError) as caught:
        read(graph, f"match {{ $n: Note }} return {{ {item} }}")
    assert caught.value.type_code == code
