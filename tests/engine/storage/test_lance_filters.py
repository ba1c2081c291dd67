"""A predicate selects from a Lance table exactly the rows for which it is true."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.core.lance_filter import (
    NO_ROW,
    AllOf,
    AnyOf,
    ColumnCompare,
    ColumnContains,
    ColumnIn,
    ColumnIsNull,
    ColumnStartsWith,
    Negated,
    NotExpressible,
    Predicate,
    in_condition,
    lance_filter,
)

INTEGERS = [0, 1, -1, 7, 127, -128, 255, 2**24 + 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**53 + 1]
INTEGERS += [2**63 - 1, -(2**63), -(2**63) + 1, 2**63, 2**64 - 1]
FLOATS = [0.0, -0.0, 0.5, -0.5, 0.1, float(np.float32(0.1)), 2.7, 5e-324, -5e-324, 2.0**24 + 1]
FLOATS += [2.0**53, 2.0**63, -(2.0**63), 3e38, 1e300, -1e300, 1.7976931348623157e308]
WILD = [10**40, -(10**40), 10**400, -(10**400), 2**64, -(2**63) - 1, Decimal("0.1"), Decimal("7")]
WILD += [Decimal("-0.5"), Decimal("1e-400"), 4e38, -4e38]
SPECIAL = [math.nan, math.inf, -math.inf]
TEXTS = [
    "",
    "a",
    "B",
    "a'b",
    "''",
    "ä",
    "z",
    "\U0001f600",
    "\uffff",
    'q"`\\%_',
    "a\0b",
    "--",
    "a\nb",
]
DAYS = [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = [EPOCH, EPOCH + timedelta(microseconds=1), EPOCH - timedelta(microseconds=1)]
MOMENTS += [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]


def within(bits: int, signed: bool) -> list[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    return [number for number in INTEGERS if low <= number < high]


def singles() -> list[float]:
    return [float(np.float32(x)) for x in FLOATS if abs(x) < 3.4e38]


COLUMNS: dict[str, pa.Array] = {
    "i8": pa.array(within(8, True), pa.int8()),
    "i32": pa.array(within(32, True), pa.int32()),
    "i64": pa.array(within(64, True), pa.int64()),
    "u8": pa.array(within(8, False), pa.uint8()),
    "u32": pa.array(within(32, False), pa.uint32()),
    "u64": pa.array(within(64, False), pa.uint64()),
    "f32": pa.array(singles() + SPECIAL, pa.float32()),
    "f64": pa.array(FLOATS + SPECIAL, pa.float64()),
    "on": pa.array([False, True]),
    "Text of": pa.array(TEXTS),
    "long": pa.array(TEXTS, pa.large_string()),
    "day": pa.array(DAYS, pa.date32()),
    "at": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    "local": pa.array([m.replace(tzinfo=None) for m in MOMENTS], pa.timestamp("us")),
    "price": pa.array([Decimal("1.50"), Decimal("-7.00"), Decimal("0.00")], pa.decimal128(6, 2)),
}
ROWS = max(map(len, COLUMNS.values())) + 2


def table() -> pa.Table:
    padded = {n: pa.concat_arrays([c, pa.nulls(ROWS - len(c), c.type)]) for n, c in COLUMNS.items()}
    return pa.table({**padded, "row": pa.array(range(ROWS), pa.int64())})


@pytest.fixture(scope="module", params=["scanned", "indexed"])
def dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    found = lance.write_dataset(table(), str(tmp_path_factory.mktemp("filters") / "t.lance"))
    if request.param == "indexed":
        for name in COLUMNS:
            found.create_scalar_index(name, "BTREE", name=f"{name}_btree")
    return found


# --------------------------------------------------------------------------- the oracle

Truth = bool | None
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def ordered(value: Any) -> Any:  # noqa: ANN401
    """Something that compares as the value does: NaN above every other number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
    return (1, 0) if value != value else (0, value)


def truth(predicate: Predicate, row: dict[str, Any]) -> Truth:
    """What SQL's three-valued logic says of a row."""
    match predicate:
        case ColumnCompare():
            value = row[predicate.column]
            if value is None or predicate.value is None:
                return None
            return COMPARE[predicate.operator](ordered(value), ordered(predicate.value))
        case ColumnIn() if row[predicate.column] is None:
            return None
        case ColumnIn():
            return either(
                [truth(ColumnCompare(predicate.column, "=", v), row) for v in predicate.values]
            )
        case ColumnIsNull():
            return row[predicate.column] is None
        case ColumnStartsWith():
            text = row[predicate.column]
            return None if text is None else text.startswith(predicate.prefix)
        case ColumnContains():
            text = row[predicate.column]
            return None if text is None else predicate.part in text
        case Negated():
            found = truth(predicate.operand, row)
            return None if found is None else not found
        case AnyOf():
            return either([truth(part, row) for part in predicate.operands])
        case AllOf():
            found = either([truth(Negated(part), row) for part in predicate.operands])
            return None if found is None else not found


def either(truths: list[Truth]) -> Truth:
    return True if True in truths else None if None in truths else False


# --------------------------------------------------------------------------- predicates


def value_for(name: str) -> st.SearchStrategy[Any]:
    if name in ("Text of", "long"):
        return st.one_of(st.sampled_from(TEXTS), st.text(max_size=3).filter(_is_unicode))
    if name == "on":
        return st.booleans()
    if name == "day":
        return st.one_of(st.sampled_from(DAYS), st.dates())
    if name in ("at", "local"):
        return st.one_of(st.sampled_from(MOMENTS), st.datetimes(timezones=st.just(UTC)))
    near = st.builds(operator.add, st.sampled_from(INTEGERS), st.integers(-2, 2))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    return st.one_of(near, st.sampled_from(FLOATS), st.sampled_from(WILD), finite)


def _is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


def leaf(name: str) -> st.SearchStrategy[Predicate]:
    value = value_for(name)
    operators: Any = st.sampled_from(sorted(COMPARE))
    some = st.one_of(value, value, value, st.none())
    tests: list[st.SearchStrategy[Predicate]] = [
        st.builds(ColumnCompare, st.just(name), operators, some),
        st.builds(ColumnIn, st.just(name), st.lists(some, max_size=4).map(tuple)),
        st.just(ColumnIsNull(name)),
    ]
    if name in ("Text of", "long"):
        tests.append(st.builds(ColumnStartsWith, st.just(name), value))
        tests.append(st.builds(ColumnContains, st.just(name), value))
    return st.one_of(tests)


def predicates() -> st.SearchStrategy[Predicate]:
    leaves = st.sampled_from(sorted(COLUMNS)).flatmap(leaf)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Negated, inner),
            st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        ),
        max_leaves=5,
    )


def selected(dataset: lance.LanceDataset, condition: str) -> list[int]:
    found: list[int] = dataset.to_table(columns=["row"], filter=condition).column(0).to_pylist()
    return sorted(found)


@given(predicates())
def test_a_filter_selects_what_the_predicate_says(
    dataset: lance.LanceDataset, predicate: Predicate
) -> None:
    try:
        condition = lance_filter(predicate, dataset.schema)
    except NotExpressible:
        return
    rows = table().to_pylist()
    expected = [row["row"] for row in rows if truth(predicate, row) is True]
    assert selected(dataset, condition) == expected, condition


@pytest.mark.parametrize("value", [*SPECIAL, "7", EPOCH, [7]])
def test_what_lance_cannot_compare_is_refused(value: object) -> None:
    schema = table().schema
    for test in (ColumnCompare("f64", "<", value), ColumnIn("i64", (7, value))):
        with pytest.raises(NotExpressible):
            lance_filter(test, schema)


def test_deep_and_unknown_predicates_are_refused() -> None:
    deep: Predicate = ColumnIsNull("i64")
    for _ in range(20):
        deep = AllOf((deep, AnyOf((deep, ColumnIsNull("u8")))))
    for predicate in (deep, ColumnIsNull("nobody"), ColumnIsNull("a`b"), ColumnIsNull("a.b")):
        with pytest.raises(NotExpressible):
            lance_filter(predicate, table().schema)


def test_no_row_is_one_filter(dataset: lance.LanceDataset) -> None:
    assert lance_filter(ColumnCompare("i8", "=", 2.5), dataset.schema) == NO_ROW
    assert selected(dataset, NO_ROW) == []


def test_a_look_up_quotes_its_values(dataset: lance.LanceDataset) -> None:
    for place, text in enumerate(TEXTS):
        assert selected(dataset, in_condition("Text of", pa.array([text]))) == [place]
