"""Which Arrow columns a property takes, to what they become, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.loading.cases import EVERYTHING, plain
from omnigraph.errors import LoadError
from omnigraph.loading import read_columnar

EVERY = EVERYTHING.node("Every")
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
NOON_MICROS = 1704110400000000


def stored(name: str, column: pa.Array) -> list[Any]:
    """What a column becomes in a property of the type that has every kind."""
    (typed,) = read_columnar(pa.table({name: column}), EVERY)
    typed.batch.validate(full=True)
    return [row[name] for row in plain(typed.batch)]


def refused(name: str, column: pa.Array) -> tuple[str, int | None]:
    with pytest.raises(LoadError) as caught:
        stored(name, column)
    assert (caught.value.type_name, caught.value.field) == ("Every", name)
    if caught.value.line is not None:
        assert f"row {caught.value.line}" in caught.value.message
    return caught.value.reason, caught.value.line


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("s", pa.array(["a", None, ""], pa.large_string()), ["a", None, ""]),
        ("s", pa.array(["a", None], pa.string_view()), ["a", None]),
        ("s", pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "b", "a", None]),
        ("s", pa.nulls(2), [None, None]),
        ("e", pa.array(["x"]).dictionary_encode(), ["x"]),
        ("b", pa.array([True, None]), [True, None]),
        ("b", pa.RunEndEncodedArray.from_arrays([2], [True]), [True, True]),
        ("i32", pa.array([1, None, -5], pa.int64()), [1, None, -5]),
        ("i32", pa.array([1, 255], pa.uint8()), [1, 255]),
        ("u64", pa.array([1, 2], pa.int8()), [1, 2]),
        ("u32", pa.array([2**32 - 1], pa.uint64()), [2**32 - 1]),
        ("f64", pa.array([0.1, None], pa.float32()), [0.10000000149011612, None]),
        ("f32", pa.array([0.1, None], pa.float64()), [0.10000000149011612, None]),
        ("f64", pa.array(np.array([1.5], np.float16)), [1.5]),
        ("f64", pa.array([2**53], pa.int64()), [float(2**53)]),
        ("f32", pa.array([3, None], pa.uint8()), [3.0, None]),
        ("d", pa.array([dt.date(2024, 1, 1)], pa.date64()), [19723]),
        ("d", pa.array([19723, None], pa.int64()), [19723, None]),
        ("d", pa.array(["2024-01-01", None]), [19723, None]),
        ("t", pa.array([NOON], pa.timestamp("s", "Europe/Paris")), [NOON_MICROS]),
        ("t", pa.array([NOON_MICROS, None]).cast(pa.timestamp("us")), [NOON_MICROS, None]),
        ("t", pa.array([1_999, -1, None]).cast(pa.timestamp("ns")), [1, -1, None]),
        ("t", pa.array([-5]).cast(pa.timestamp("ms", "UTC")), [-5000]),
        ("t", pa.array([NOON_MICROS]), [NOON_MICROS]),
        ("t", pa.array(["2024-01-01T12:00:00Z", None]), [NOON_MICROS, None]),
        ("t", pa.array([dt.date(1970, 1, 2)]), [86_400_000_000]),
        ("ls", pa.array([["a"], [], None], pa.large_list(pa.large_string())), [["a"], [], None]),
        ("li32", pa.array([[1, 2], None, []], pa.list_(pa.int64())), [[1, 2], None, []]),
        ("li32", pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), [[1, 2], None]),
        ("li32", pa.array([[9], [1, 2], None], pa.list_(pa.int32())).slice(1), [[1, 2], None]),
        ("li32", pa.array([[1, 2], None, []], pa.list_view(pa.int32())), [[1, 2], None, []]),
        ("li32", pa.array([[9], [1], None], pa.list_view(pa.int32())).slice(1), [[1], None]),
        ("li32", pa.array([[1, 2]], pa.large_list_view(pa.int64())), [[1, 2]]),
        ("ld", pa.array([["1970-01-02"]]), [[1]]),
        ("v", pa.array([[1.0, 2.0, 3.0], None], pa.list_(pa.float64())), [[1.0, 2.0, 3.0], None]),
        ("v", pa.array([[1, 2, 3]], pa.list_(pa.int32(), 3)), [[1.0, 2.0, 3.0]]),
        ("v", pa.array([[1, 2, 3], None], pa.list_view(pa.int32())), [[1.0, 2.0, 3.0], None]),
        ("v", pa.array([None, [1, 2, 3]], pa.list_(pa.float32(), 3)), [None, [1.0, 2.0, 3.0]]),
        ("blob", pa.array([b"hi", None, b""]), [b"hi", None, b""]),
        ("blob", pa.array([b"hi"], pa.binary(2)), [b"hi"]),
        ("blob", pa.array([b"hi"], pa.binary_view()), [b"hi"]),
        ("blob", pa.array(["base64:aGk=", None]), [b"hi", None]),
    ],
)
def test_fitting_columns_are_cast_without_loss(
    name: str, column: pa.Array, expected: list[Any]
) -> None:
    assert stored(name, column) == expected


@pytest.mark.parametrize(
    ("name", "column", "code", "row"),
    [
        ("s", pa.array([1]), "value_type", None),
        ("s", pa.array([b"x"]), "value_type", None),
        ("b", pa.array([1, 0]), "value_type", None),
        ("i32", pa.array([1, None, 2**31]), "value_range", 3),
        ("u32", pa.array([1, -1]), "value_range", 2),
        ("i64", pa.array([2**63], pa.uint64()), "value_range", 1),
        ("i64", pa.array([1.0]), "value_type", None),
        ("i64", pa.array(["1"]), "value_type", None),
        ("i64", pa.array([True]), "value_type", None),
        ("f64", pa.array([1.0, float("nan")]), "value_range", 2),
        ("f64", pa.array([float("-inf")]), "value_range", 1),
        ("f32", pa.array([1.0, None, 1e39]), "value_range", 3),
        ("f32", pa.array([2**24 + 1]), "value_range", 1),
        ("f64", pa.array([0, 2**53 + 1]), "value_range", 2),
        ("f64", pa.array([Decimal("1.5")]), "value_type", None),
        ("i64", pa.array([Decimal("1")]), "value_type", None),
        ("d", pa.array([NOON], pa.timestamp("us")), "value_type", None),
        ("d", pa.array(["2024-01-01", "2024-13-01"]), "value_range", 2),
        ("d", pa.array(["19723"]), "value_type", 1),
        ("d", pa.array([2**40]), "value_range", 1),
        ("t", pa.array([0, 2**62]).cast(pa.timestamp("s")), "value_range", 2),
        ("t", pa.array([dt.time(1)]), "value_type", None),
        ("ls", pa.array([["a"], ["b", None]]), "value_type", 2),
        ("ls", pa.array(["a"]), "value_type", None),
        ("lf64", pa.array([[1.0], None, [], [2.0, float("nan")]]), "value_range", 4),
        ("li32", pa.array([[], [1, 2**40]]), "value_range", 2),
        ("v", pa.array([[1.0, 2.0, 3.0], [1.0]]), "vector_dim", 2),
        ("v", pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), "vector_dim", 1),
        ("v", pa.array([None, [1.0, None, 3.0]]), "vector_element", 2),
        ("v", pa.array([[1.0, float("nan"), 3.0]]), "vector_element", 1),
        ("v", pa.array([["1", "2", "3"]]), "vector_element", None),
        ("v", pa.array(["[1,2,3]"]), "value_type", None),
        ("blob", pa.array([1]), "value_type", None),
        ("blob", pa.array(["base64:", "file:///x"]), "blob_input", 2),
    ],
)
def test_columns_that_would_lose_something_are_refused(
    name: str, column: pa.Array, code: str, row: int | None
) -> None:
    assert refused(name, column) == (code, row)


def test_nan_brings_a_hint_about_null() -> None:
    with pytest.raises(LoadError, match="must have a null"):
        stored("f32", pa.array([float("nan")]))


def test_a_column_of_the_stored_type_is_not_copied() -> None:
    for name, column in {
        "s": pa.array(["a", "b"]),
        "f64": pa.array([1.0, 2.0]),
        "v": pa.array([[1.0, 2.0, 3.0]] * 2, pa.list_(pa.float32(), 3)),
    }.items():
        (typed,) = read_columnar(pa.table({name: column}), EVERY)
        found = typed.batch[name]
        if name == "v":
            found, column = found.values, column.values
        assert found.buffers()[-1].address == column.buffers()[-1].address
