"""Variables joined by equal values, not by an edge: every type, nulls, and no cross product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.graph import bindings
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.run import matcher

SCHEMA = """
node A { k: String @key  i: I32?  n: I64?  u: U64?  f: F64?  g: F32?  s: String?  b: Bool?
         d: Date?  t: DateTime?  e: enum(x, y)? }
node B { k: String @key  i: I32?  n: I64?  u: U64?  f: F64?  g: F32?  s: String?  b: Bool?
         d: Date?  t: DateTime?  e: enum(y, z)? }
edge E: A -> A { w: I64? }
"""
BIG = 2**53
ROWS: list[dict[str, Any]] = [
    {"i": 1, "n": BIG + 1, "u": 2**63, "f": float(BIG), "g": 0.5, "s": "x", "b": True},
    {"i": 1, "n": -1, "u": 2**64 - 1, "f": 2.0**63, "g": 1.0, "s": "y", "b": False},
    {"i": -1, "n": BIG, "u": 1, "f": -0.0, "g": 0.0, "s": "", "b": True},
    {"i": 0, "n": 1, "u": BIG + 1, "f": 0.5, "g": 2.5, "s": "1", "b": None},
    {"i": None, "n": None, "u": None, "f": 1.0, "g": None, "s": None, "b": None},
    {"i": None, "n": 0, "u": 0, "f": 0.0, "g": -0.0, "s": "0", "b": None},  # zero is zero
]
NUMBERS = "inufg"
PAIRS = [(a, b) for a in NUMBERS for b in NUMBERS] + [
    ("s", "s"),
    ("b", "b"),
    ("s", "e"),
    ("d", "d"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("joins")
    graph = omnigraph.init(str(root), SCHEMA)
    days = ["2024-01-01", "2024-01-02", None, "2024-01-01", "1969-12-31", None]
    with graph.transaction() as txn:
        for type_, word in (("A", "x"), ("B", "y")):
            txn.insert(
                type_,
                [
                    row | {"k": f"{type_}{n}", "d": days[n], "e": "y" if n % 2 else None}
                    for n, row in enumerate(ROWS)
                ]
                + [{"k": f"{type_}9", "s": word}],
            )
        txn.insert("E", [{"src": "A0", "dst": "A1", "w": 1}, {"src": "A1", "dst": "A2", "w": None}])
    return graph


def exactly_equal(graph: Graph, left: str, right: str) -> list[tuple[str, str]]:
    """What Python, which compares numbers by value, takes for equal."""
    sides = [
        values(read(graph, f"match {{ $v: {t} }} return {{ $v.k, $v.{p} }}"))
        for t, p in (("A", left), ("B", right))
    ]
    return sorted((a, b) for a, x in sides[0] for b, y in sides[1] if x is not None and x == y)


@pytest.mark.parametrize("mode", ["indexed", "csr"])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_values_of_all_types_join_where_they_are_equal(
    graph: Graph, left: str, right: str, mode: Mode
) -> None:
    expected = exactly_equal(graph, left, right)
    for filter_ in (f"$a.{left} = $b.{right}", f"$b.{right} = $a.{left}"):
        body = f"match {{ $a: A  $b: B  {filter_} }} return {{ $a.k, $b.k }}"
        found = values(read(graph, body, context=ExecContext(mode=mode)))
        assert sorted(found) == expected


@pytest.mark.parametrize(("few", "many"), [(40, 5), (5, 40)])
def test_rows_that_come_in_parts_join_like_rows_that_come_at_once(
    tmp_path: Path, few: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "CHUNK", 4)
    monkeypatch.setattr(bindings, "CHUNK", 4)
    schema = "node A { k: I64 @key v: I64? }\nnode B { k: I64 @key v: I64? }\nedge E: A -> A"
    graph = omnigraph.init(str(tmp_path), schema)
    with graph.transaction() as txn:
        txn.insert("A", [{"k": n, "v": n % 3 or None} for n in range(few)])
        txn.insert("B", [{"k": n, "v": n % 4} for n in range(many)])
        txn.insert("E", [{"src": str(n), "dst": str((n + 1) % few)} for n in range(few)])
    body = "match { $a: A  $a e $c  $b: B  $c.v = $b.v } return { $a.k, $b.k }"
    ends = {n: (n + 1) % few for n in range(few)}
    expected = [(a, b) for a, c in ends.items() for b in range(many) if c % 3 and c % 3 == b % 4]
    assert sorted(values(read(graph, body))) == sorted(expected)


def test_a_join_stands_among_other_clauses(graph: Graph) -> None:
    body = "match { $a: A  $a $w:e $c  $b: B  $b.n = $w.w  $b.k != $a.k } return { $a.k, $b.k }"
    assert values(read(graph, body)) == [("A0", "B3")]
    body = "match { $a: A  not { $b: B  $b.i = $a.i  $b.s != $a.s } } return { $a.k }"
    assert sorted(values(read(graph, body))) == ["A2", "A3", "A4", "A5", "A9"]
    body = "match { $a: A  $b: B  $a.i = $b.i  $a.s = $b.s } return { $a.k, count($b) as n }"
    assert sorted(values(read(graph, body))) == [("A0", 1), ("A1", 1), ("A2", 1), ("A3", 1)]


def test_the_plan_says_so(graph: Graph) -> None:
    text = "query q() { match { $a: A  $b: B  $a.i = $b.n } return { $a.k } }"
    assert "scan $b: B on $b.n = $a.i" in graph.explain(text)


def test_a_join_of_large_tables_is_no_cross_product(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path), "node A { k: I64 @key v: I64 }\nnode B { k: I64 @key }")
    size = 200_000  # of which the product would take hours
    with graph.transaction() as txn:
        txn.insert("A", pa.table({"k": np.arange(size), "v": np.arange(size) % 1000}))
        txn.insert("B", pa.table({"k": np.arange(size)}))
    body = "match { $a: A  $b: B  $a.v = $b.k } return { count($a) as n, max($b.k) as m }"
    assert values(read(graph, body)) == [(size, 999)]
