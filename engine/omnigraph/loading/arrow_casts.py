"""Arrow columns of any fitting type to the stored type: lossless, or refused with the row.

Integers may change width if they fit, floats are rounded to float32, times are truncated to
microseconds, text may come in any encoding. A column that has the stored type already is only
looked at, not copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.loading.json_columns import (
    NeedsExactReading,
    json_column,
    list_array,
    text_days,
    text_micros,
    vector_array,
)
from omnigraph.loading.json_property import ValueProblem, check_value
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.property_types import (
    FLOATS,
    INTEGER_RANGES,
    PropertyType,
    Scalar,
    scalar_type,
)

types = pa.types

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_MICROS = 86_400_000_000
_EXACT_INTEGERS = {Scalar.F32: 2**24, Scalar.F64: 2**53}
_NAN_HINT = "NaN is not a value; where a number is missing the column must have a null"
_INTEGER = re.compile(r"-?\d{1,30}", re.ASCII)


class ColumnProblem(ValueProblem):
    """A column that a property does not take; `row` counts from 0 and is None for the column."""

    def __init__(self, code: str, reason: str, row: int | None = None) -> None:
        super().__init__(code, reason)
        self.row = row


def stored_column(column: pa.Array, type_: PropertyType, *, csv: bool = False) -> pa.Array:
    """The column in the stored type of a property. Null stays null, whether allowed or not."""
    column = plain(column)
    if types.is_null(column.type):
        return pa.nulls(len(column), arrow_type(type_))
    if is_text(column.type):
        return _from_text(as_utf8(column), type_, csv=csv)
    if type_.is_list:
        return _list(column, type_)
    if type_.is_vector:
        return _vector(column, type_)
    return _scalar(column, type_.scalar)


def plain(column: pa.Array) -> pa.Array:
    """The column without dictionary, run-end or extension encoding."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column


def is_text(type_: pa.DataType) -> bool:
    return bool(
        types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    )


def as_utf8(column: pa.Array) -> pa.Array:
    return column if types.is_string(column.type) else column.cast(pa.utf8())


def _refuse(words: str, column: pa.Array) -> ColumnProblem:
    return ColumnProblem("value_type", f"{words} is needed, not a column of {column.type}")


def _first(mask: pa.Array | np.ndarray[Any, Any]) -> int:
    return int(pc.index(mask if isinstance(mask, pa.Array) else pa.array(mask), True).as_py())


def _raw(column: pa.Array, type_: pa.DataType) -> np.ndarray[Any, Any]:
    """The numbers of a column with 0 for null."""
    values: np.ndarray[Any, Any] = column.cast(type_).fill_null(0).to_numpy(zero_copy_only=False)
    return values


# --------------------------------------------------------------------------- text


def _from_text(texts: pa.Array, type_: PropertyType, *, csv: bool) -> pa.Array:
    """Text is what the same JSON string would be; a CSV cell may hold any JSON value."""
    if type_.is_text:
        return texts
    if type_.is_temporal:
        return _times(texts, type_, csv=csv)
    if type_.is_blob:
        return _exact(texts, type_, list)
    if csv and (type_.is_list or type_.is_vector):
        return _exact(texts, type_, _json_cells)
    raise _refuse(f"a column of {type_}", texts)


def _times(texts: pa.Array, type_: PropertyType, *, csv: bool) -> pa.Array:
    try:
        if csv and pc.all(pc.match_substring_regex(texts, "^-?[0-9]{1,18}$")).as_py():
            return _integer(texts.cast(pa.int64()), type_.scalar).cast(arrow_type(type_))
        read = text_days if type_.scalar is Scalar.DATE else text_micros
        return read(texts).cast(arrow_type(type_))
    except ValueProblem:
        return _exact(texts, type_, _times_or_integers if csv else list)


def _exact(
    texts: pa.Array, type_: PropertyType, decode: Callable[[list[Any]], list[Any]]
) -> pa.Array:
    values = decode(texts.to_pylist())
    try:
        return json_column(values, type_)
    except NeedsExactReading:
        for row, value in enumerate(values):
            try:
                if value is not None:
                    check_value(value, type_)
            except ValueProblem as problem:
                raise ColumnProblem(problem.code, problem.reason, row) from None
        raise


def _times_or_integers(cells: list[Any]) -> list[Any]:
    return [int(c) if c and _INTEGER.fullmatch(c) else c for c in cells]


def _json_cells(cells: list[Any]) -> list[Any]:
    try:
        return [None if c is None else orjson.loads(c) for c in cells]
    except orjson.JSONDecodeError as error:
        row = cells.index(error.doc)
        raise ColumnProblem("value_type", f"not a JSON array: {error.msg}", row) from None


# --------------------------------------------------------------------------- scalars


def _scalar(column: pa.Array, scalar: Scalar) -> pa.Array:
    type_ = column.type
    target = arrow_type(scalar_type(scalar))
    if scalar in FLOATS:
        return _float(column, scalar, target)
    if type_ == target:
        return column
    if scalar is Scalar.BLOB:
        if types.is_binary(type_) or types.is_binary_view(type_):
            return column.cast(target)
        if types.is_fixed_size_binary(type_):
            return column.cast(pa.binary()).cast(target)
    elif scalar is Scalar.DATE and types.is_date64(type_):
        return column.cast(target, safe=False)
    elif scalar is Scalar.DATETIME and (types.is_timestamp(type_) or types.is_date(type_)):
        return _moment(column).cast(target)
    elif scalar in INTEGER_RANGES and types.is_integer(type_):
        return _integer(column, scalar).cast(target)
    raise _refuse(f"a column of {scalar}", column)


def _integer(column: pa.Array, scalar: Scalar) -> pa.Array:
    stored = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}
    target = stored.get(scalar, arrow_type(scalar_type(scalar)))
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        low, high = INTEGER_RANGES[scalar]
        numbers = _raw(column, column.type)
        row = _first((numbers < low) | (numbers > high))
        raise ColumnProblem("value_range", f"{numbers[row]} does not fit {scalar}", row) from None


def _float(column: pa.Array, scalar: Scalar, target: pa.DataType) -> pa.Array:
    if types.is_integer(column.type):
        return _float_of_integers(column, scalar, target)
    if not types.is_floating(column.type):
        raise _refuse("a column of numbers", column)
    numbers = column if column.type == target else column.cast(target, safe=False)
    sound = pc.is_finite(numbers)
    if pc.all(sound).as_py() is False:
        row = _first(pc.invert(sound))
        value = column[row].as_py()
        reason = _NAN_HINT if value != value else f"{value} does not fit {scalar}"
        raise ColumnProblem("value_range", reason, row)
    return numbers


def _float_of_integers(column: pa.Array, scalar: Scalar, target: pa.DataType) -> pa.Array:
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        most = _EXACT_INTEGERS[scalar]
        numbers = _raw(column, column.type)
        row = _first((numbers > most) | (numbers < -most))
        reason = f"{numbers[row]} may not be exact as {scalar}; cast the column to float to round"
        raise ColumnProblem("value_range", reason, row) from None


def _moment(column: pa.Array) -> pa.Array:
    """Microseconds of dates or of timestamps of any unit; a missing zone is UTC."""
    if types.is_date(column.type):
        return _scaled(column.cast(pa.date32(), safe=False).cast(pa.int32()), _DAY_MICROS)
    per_second = _PER_SECOND[column.type.unit]
    if per_second <= 10**6:
        return _scaled(column.cast(pa.int64()), 10**6 // per_second)
    floored = _raw(column, pa.int64()) // (per_second // 10**6)
    return pa.array(floored, mask=column.is_null().to_numpy(zero_copy_only=False))


def _scaled(numbers: pa.Array, factor: int) -> pa.Array:
    try:
        return pc.multiply_checked(numbers.cast(pa.int64()), pa.scalar(factor, pa.int64()))
    except pa.ArrowInvalid:
        raw = _raw(numbers, pa.int64())
        most = (2**63 - 1) // factor
        row = _first((raw > most) | (raw < -most))
        problem = "the timestamp is outside the range of 64-bit microseconds"
        raise ColumnProblem("value_range", problem, row) from None


# --------------------------------------------------------------------------- nested


def _as_lists(column: pa.Array, type_: PropertyType) -> pa.Array:
    kind = column.type
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        # Not by a cast: in pyarrow 26 it gives lists whose offsets are too few.
        return _rebuilt(column, column.flatten(), pa.list_(kind.value_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return column
    raise _refuse(f"a column of {type_}", column)


def _elements(column: pa.Array, scalar: Scalar, code: str | None) -> tuple[pa.Array, bool]:
    """The converted elements of all lists in a row, and whether they are the very same."""
    flat = column.flatten()
    try:
        if flat.null_count:
            raise ColumnProblem("value_type", "null inside a list", _first(flat.is_null()))
        converted = stored_column(flat, scalar_type(scalar))
    except ColumnProblem as problem:
        row = problem.row
        if row is not None:
            ends = np.cumsum(pc.list_value_length(column).fill_null(0).to_numpy())
            row = int(np.searchsorted(ends, row, side="right"))
        raise ColumnProblem(code or problem.code, f"an element: {problem.reason}", row) from None
    return converted, converted is flat


def _list(column: pa.Array, type_: PropertyType) -> pa.Array:
    column = _as_lists(column, type_)
    elements, same = _elements(column, type_.scalar, None)
    target = arrow_type(type_)
    if same and column.type == target:
        return column
    return _rebuilt(column, elements, target)


def _rebuilt(column: pa.Array, elements: pa.Array, target: pa.DataType) -> pa.Array:
    """Lists of the same lengths with other elements."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    return list_array(lengths, elements, target, column.is_null() if column.null_count else None)


def _vector(column: pa.Array, type_: PropertyType) -> pa.Array:
    column = _as_lists(column, type_)
    dimension = type_.dimension or 0
    lengths = pc.list_value_length(column)
    if pc.all(pc.equal(lengths, dimension)).as_py() is False:
        row = _first(pc.not_equal(lengths, dimension))
        reason = f"{dimension} numbers are needed, not {lengths[row].as_py()}"
        raise ColumnProblem("vector_dim", reason, row)
    elements, same = _elements(column, Scalar.F32, "vector_element")
    target = arrow_type(type_)
    if same and column.type == target:
        return column
    return vector_array(elements, target, column.is_null() if column.null_count else None)
