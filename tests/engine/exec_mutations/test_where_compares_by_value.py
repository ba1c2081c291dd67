"""`where` finds exactly the rows for which the comparison holds by value, at every width."""

from __future__ import annotations

import operator
import struct
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph
from omnigraph.exec.mutate.statement_values import StatementValues
from omnigraph.exec.mutate.where_filter import where_condition
from omnigraph.query.logical.expressions import Literal
from omnigraph.query.logical.logical_plan import Where
from omnigraph.query.syntax.tree import Comparison
from omnigraph.storage.refs.snapshot import Snapshot
from support.graphs import ndjson, node

OPERATORS: dict[Comparison, Any] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


INTEGERS = [0, 1, -1, 2, 7, 2**24 + 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**53 + 1]
INTEGERS += [2**63 - 1, -(2**63), -(2**63) + 1, 2**63, 2**64 - 1, 2**64, -(2**64), 10**40]
FLOATS = [0.0, -0.0, 0.1, f32(0.1), 0.5, -0.5, 1.0, 2.7, 1e-7, 5e-324, f32(1e-45), 2.0**24 + 1]
FLOATS += [2.0**31, -(2.0**31), 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, 3e38, 4e38]
STORED: dict[str, list[Any]] = {
    "i32": [n for n in INTEGERS if -(2**31) <= n < 2**31],
    "i64": [n for n in INTEGERS if -(2**63) <= n < 2**63],
    "u32": [n for n in INTEGERS if 0 <= n < 2**32],
    "u64": [n for n in INTEGERS if 0 <= n < 2**64],
    "f32": sorted({f32(x) for x in FLOATS if abs(x) < 3.5e38} | {-0.0}, key=repr),
    "f64": FLOATS,
    "b": [False, True],
    "s": ["", "a", "B", "a'b", "ä", "z", "\U0001f600", "\uffff", 'q"`\\%_'],
    "day": [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    "at": [EPOCH, EPOCH + timedelta(microseconds=1), datetime(1, 1, 2, tzinfo=UTC)]
    + [datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)],
}
SCHEMA = """node T { k: I32 @key  i32: I32?  i64: I64?  u32: U32?  u64: U64?  f32: F32?  f64: F64?
                     b: Bool?  s: String?  day: Date?  at: DateTime?
                     @index(i32) @index(i64) @index(f32) @index(f64) @index(day) @index(at) }"""


def numbers() -> st.SearchStrategy[int | float]:
    near = st.builds(lambda n, d: n + d, st.sampled_from(INTEGERS), st.integers(-2, 2))
    wild = st.floats(allow_nan=False, allow_infinity=False)
    return st.one_of(near, st.sampled_from(FLOATS), wild, st.integers(-10, 10))


def value_for(name: str) -> st.SearchStrategy[Any]:
    if name in ("b", "s", "day", "at"):
        return st.sampled_from(STORED[name])
    return numbers()


@pytest.fixture(scope="module", params=["scanned", "indexed"])
def snapshot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    graph = omnigraph.init(Path(tmp_path_factory.mktemp("where")) / "graph", SCHEMA)
    longest = max(map(len, STORED.values()))
    records = [
        node("T", k=place, **{n: _json(v[place]) for n, v in STORED.items() if place < len(v)})
        for place in range(longest + 1)
    ]
    graph.load(ndjson(*records))
    if request.param == "indexed":
        graph.optimize()
    return graph.snapshot()


def _json(value: Any) -> Any:  # noqa: ANN401
    return value.isoformat() if isinstance(value, date) else value


@given(
    st.sampled_from(sorted(STORED)).flatmap(lambda n: st.tuples(st.just(n), value_for(n))),
    st.sampled_from(sorted(OPERATORS)),
)
def test_where_agrees_with_python(
    snapshot: Snapshot, case: tuple[str, Any], op: Comparison
) -> None:
    name, value = case
    owner = snapshot.catalog.node("T")
    type_ = owner.property(name).type
    where = Where(name, type_, op, Literal(value, type_))
    condition = where_condition(owner, where, StatementValues({}, EPOCH))
    expected = [place for place, v in enumerate(STORED[name]) if OPERATORS[op](v, value)]
    found = snapshot.scan("T", ["k"], condition).read_all().column("k").to_pylist()
    assert sorted(found) == expected


@given(st.one_of(numbers(), st.floats(0, 5)), st.sampled_from(sorted(OPERATORS)))
def test_a_key_compares_by_value_too(snapshot: Snapshot, value: float, op: Comparison) -> None:
    """Equality looks the id up, which is the text of the key."""
    owner = snapshot.catalog.node("T")
    where = Where("k", owner.property("k").type, op, Literal(value, owner.property("k").type))
    condition = where_condition(owner, where, StatementValues({}, EPOCH))
    found = snapshot.scan("T", ["k"], condition).read_all().column("k").to_pylist()
    keys = range(max(map(len, STORED.values())) + 1)
    assert sorted(found) == [key for key in keys if OPERATORS[op](key, value)]
