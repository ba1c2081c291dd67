"""Comparison by value, three-valued logic, membership and text conditions.

The rules are docs/design/query-language.md#3-matching.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.evaluate.comparison import compare_arrays, compare_constant
from omnigraph.query.syntax.tree import Comparison

OPERATORS: dict[Comparison, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
TYPES = {
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**53, 2**53 + 1, 2**62 + 1, -(2**53) - 1, 2**63 - 1]),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([2**63, 2**64 - 1, 2**53 + 1]),
    pa.float32(): st.floats(width=32, allow_nan=False)
    | st.sampled_from([float(np.float32(0.1)), 2.0**63, -(2.0**63)]),
    pa.float64(): st.floats(allow_nan=False)
    | st.sampled_from([2.0**53, 2.0**53 + 2, 2.0**63, 2.0**64, 0.1, 2.7, -(2.0**63)]),
}


@st.composite
def typed(draw: st.DrawFn) -> tuple[pa.DataType, Any]:
    type_ = draw(st.sampled_from(list(TYPES)))
    return type_, draw(TYPES[type_] | st.none())


@given(typed(), typed(), st.sampled_from(list(OPERATORS)))
def test_numbers_compare_by_value_across_widths(
    left: tuple[pa.DataType, Any], right: tuple[pa.DataType, Any], op: Comparison
) -> None:
    (left_type, a), (right_type, b) = left, right
    # Python compares whole numbers with floats exactly.
    expected = a is not None and b is not None and OPERATORS[op](a, b)
    columns = pa.array([a], left_type), pa.array([b], right_type)
    assert compare_arrays(op, *columns).tolist() == [expected]
    if b is not None:
        assert compare_constant(op, columns[0], b).tolist() == [expected]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("conditions")
    graph = omnigraph.init(
        str(root),
        "node T { k: String @key i: I32? f: F64? s: String? b: Bool? d: Date? l: [I64]? u: U64? }",
    )
    with graph.transaction() as txn:
        txn.insert(
            "T",
            pa.table(
                {
                    "k": ["null", "one", "two"],
                    "i": pa.array([None, 1, 2], pa.int32()),
                    "f": pa.array([None, 1.0, 2.7], pa.float64()),
                    "s": pa.array([None, "é%_", "zebra"]),
                    "b": pa.array([None, False, True]),
                    "d": pa.array([None, 0, 1], pa.int32()).cast(pa.date32()),
                    "l": pa.array([None, [], [1, 3]], pa.list_(pa.int64())),
                    "u": pa.array([None, 1, 2**63 - 1], pa.uint64()),
                }
            ),
        )
    return graph


CASES = [
    ("$t.i = 1", ["one"]),
    ("$t.i != 1", ["two"]),
    ("$t.i != 99", ["one", "two"]),
    ("$t.i = $t.i", ["one", "two"]),
    ("$t.i = 2.7", []),
    ("$t.i < 1.5", ["one"]),
    ("$t.i = $t.f", ["one"]),
    ("$t.f > $t.i", ["two"]),
    ("$t.u > 1", ["two"]),
    ("$t.u > 0.5", ["one", "two"]),
    ("$t.b < true", ["one"]),
    ("$t.b = false", ["one"]),
    ('$t.d < date("1970-01-02")', ["one"]),
    ('$t.s < "é"', ["two"]),
    ('$t.s > "z"', ["one", "two"]),
    ('$t.s contains "%_"', ["one"]),
    ('$t.s contains ""', ["one", "two"]),
    ('$t.s starts_with "é"', ["one"]),
    ('"zebras" starts_with $t.s', ["two"]),
    ('"a zebra" contains $t.s', ["two"]),
    ("$t.l contains 3", ["two"]),
    ("$t.l contains 3.0", ["two"]),
    ("$t.l contains 3.5", []),
    ("$t.l contains $t.i", []),
    ("1 = 1", ["null", "one", "two"]),
    ("1 < 0.5", []),
    ("$p = 1", []),
    ("$t.i != $p", []),
    ("$q contains $t.i", ["one"]),
    ("$q contains $t.f", ["one"]),
    ("$n contains $t.i", []),
]


@pytest.mark.parametrize(("condition", "expected"), CASES)
def test_a_null_operand_satisfies_nothing(
    graph: Graph, condition: str, expected: list[str]
) -> None:
    result = read(
        graph,
        f"match {{ $t: T {condition} }} return {{ $t.k }}",
        {"p": None, "q": [1, 7], "n": None},
        declare="$p: I64?, $q: [I64], $n: [I64]?",
    )
    assert sorted(values(result)) == expected
    negated = read(
        graph,
        f"match {{ $t: T not {{ $t.k = $t.k {condition} }} }} return {{ $t.k }}",
        {"p": None, "q": [1, 7], "n": None},
        declare="$p: I64?, $q: [I64], $n: [I64]?",
    )
    assert sorted(values(negated)) == sorted({"null", "one", "two"} - set(expected))


def test_json_rows_follow_section_10(tmp_path: Path) -> None:
    graph = omnigraph.init(
        str(tmp_path),
        "node V { k: I64 @key t: DateTime? d: Date? f: F64? v: Vector(2)? l: [I64]? u: U64? }",
    )
    micros = [0, 1_000, 1]
    with graph.transaction() as txn:
        txn.insert(
            "V",
            pa.table(
                {
                    "k": [0, 1, 2**53],
                    "t": pa.array(micros, pa.timestamp("us", "UTC")),
                    "d": pa.array([0, None, 1], pa.int32()).cast(pa.date32()),
                    "f": [0.5, None, -1.5],
                    "l": pa.array([[1, 2**53], None, []], pa.list_(pa.int64())),
                }
            ),
        )
    rows = read(graph, "match { $v: V } return { $v.k, $v.t, $v.d, $v.f, $v.l } order { $v.k }")
    assert [row["v.t"] for row in rows.rows()] == [
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.001Z",
        "1970-01-01T00:00:00.000001Z",
    ]
    first, _, last = rows.rows()
    assert first == {
        "v.k": 0,
        "v.t": "1970-01-01T00:00:00Z",
        "v.d": "1970-01-01",
        "v.f": 0.5,
        "v.l": [1, "9007199254740992"],
    }
    assert last["v.k"] == "9007199254740992"
    envelope = rows.to_json()
    assert envelope["row_count"] == 3
    assert envelope["target"] == {"branch": "main", "snapshot": rows.commit}
    assert envelope["graph_commit_id"] == rows.commit
    assert math.isclose(envelope["rows"][2]["v.f"], -1.5)


def test_json_rows_demand_names_that_differ(graph: Graph) -> None:
    result = read(graph, "match { $t: T } return { $t.k, $t.k }")
    assert result.to_arrow().column_names == ["t.k", "t.k"]
    with pytest.raises(omnigraph.errors.InvalidInput, match="two columns are called 't.k'"):
        result.rows()
