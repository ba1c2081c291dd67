"""Comparison by value: numbers across widths exactly, texts by bytes, null never.

The rules are docs/design/query-language.md#3-matching.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, truth
from omnigraph.query.logical.expressions import MIRRORED
from omnigraph.query.syntax.tree import Comparison

# numpy and Arrow call their comparisons by the same names.
_NAMES: dict[Comparison, str] = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
OPERATORS: dict[Comparison, np.ufunc] = {op: getattr(np, name) for op, name in _NAMES.items()}
_ARROW = {op: getattr(pc, name) for op, name in _NAMES.items()}


def is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))


def compare_arrays(op: Comparison, left: pa.Array, right: pa.Array) -> Mask:
    """Row by row; false where either is null."""
    if is_number(left.type):
        valid = _valid(left) & _valid(right)
        with np.errstate(invalid="ignore"):
            return np.asarray(compare_numbers(op, _numbers(left), _numbers(right)) & valid)
    if left.type != right.type:
        right = right.cast(left.type)
    return truth(_ARROW[op](left, right))


def compare_constant(op: Comparison, left: pa.Array, value: Any) -> Mask:  # noqa: ANN401
    """Each row against one value, which is not null."""
    if is_number(left.type):
        with np.errstate(invalid="ignore"):
            found = number_test(op, _numbers(left), value)
        return found & _valid(left) if left.null_count else found
    if op == "=" and pa.types.is_boolean(left.type):
        return truth(left if value else pc.invert(left))
    return truth(_ARROW[op](left, pa.scalar(value, left.type)))


def number_test(op: Comparison, values: AnyArray, value: int | float) -> Mask:
    """Numbers without nulls against a constant, exactly."""
    if values.dtype.kind == "f":
        return _floats_to_constant(op, values, value)
    if isinstance(value, float):
        return _integers_to_float(op, values, value)
    found: Mask = OPERATORS[op](values, value)
    return found


def compare_numbers(op: Comparison, left: AnyArray, right: AnyArray) -> Mask:
    """Numbers without nulls, row by row, exactly."""
    kinds = left.dtype.kind == "f", right.dtype.kind == "f"
    if kinds == (False, True):
        return _integers_to_floats(op, left, right.astype(np.float64, copy=False))
    if kinds == (True, False):
        return _integers_to_floats(MIRRORED[op], right, left.astype(np.float64, copy=False))
    # numpy compares signed with unsigned integers, and floats of two widths, by value.
    found: Mask = OPERATORS[op](left, right)
    return found


def _floats_to_constant(op: Comparison, values: AnyArray, value: int | float) -> Mask:
    if values.dtype != np.float64:
        values = values.astype(np.float64)
    near = float(value)
    if isinstance(value, float) or near == value:
        return np.asarray(OPERATORS[op](values, near))
    if op in ("=", "!="):
        return np.full(len(values), op == "!=")
    if op in ("<", "<="):
        return np.asarray(values < near if near > value else values <= near)
    return np.asarray(values >= near if near > value else values > near)


def _integers_to_float(op: Comparison, values: AnyArray, value: float) -> Mask:
    if value.is_integer():
        return np.asarray(OPERATORS[op](values, int(value)))
    if op in ("=", "!=") or math.isnan(value):
        return np.full(len(values), op == "!=")
    if math.isinf(value):
        return np.full(len(values), OPERATORS[op](0.0, value))
    below = math.floor(value)
    return np.asarray(values <= below if op in ("<", "<=") else values > below)


def _integers_to_floats(op: Comparison, whole: AnyArray, floats: AnyArray) -> Mask:
    low, high = (0.0, 2.0**64) if whole.dtype == np.uint64 else (-(2.0**63), 2.0**63)
    wide = np.uint64 if whole.dtype == np.uint64 else np.int64
    floor = np.floor(floats)
    inside = (floats >= low) & (floor < high)
    cut = np.where(inside, floor, 0.0).astype(wide)
    same = inside & (floor == floats) & (whole == cut)
    if op in ("=", "!="):
        return np.asarray(same if op == "=" else ~same)
    # A fraction above the floor makes every integer up to the floor smaller.
    found = np.where(inside, (whole < cut) | ((whole == cut) & (floor != floats)), floats >= high)
    if op in (">", ">="):
        found = ~found & ~same & ~np.isnan(floats)
    return np.asarray(found | same if op in ("<=", ">=") else found)


def _valid(array: pa.Array) -> Any:  # noqa: ANN401
    return truth(array.is_valid()) if array.null_count else np.bool_(True)


def _numbers(array: pa.Array) -> AnyArray:
    filled = array.fill_null(0) if array.null_count else array
    values: AnyArray = filled.to_numpy(zero_copy_only=False)
    return values
