"""Whole columns of JSON values to Arrow: the same rules as `json_property`, a column at a time.

A conversion either proves that every value is valid, or raises `NeedsExactReading` and leaves the
decision, and the message, to `json_property`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.loading.json_property import ValueProblem, blob_bytes, date_days, moment_micros
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.property_types import FLOATS, PropertyType, Scalar, scalar_type

JsonValues = Sequence[Any]

_NULL = type(None)
_KINDS: dict[Scalar, frozenset[type]] = {
    Scalar.STRING: frozenset({str}),
    Scalar.BLOB: frozenset({str}),
    Scalar.BOOL: frozenset({bool}),
    Scalar.F32: frozenset({int, float}),
    Scalar.F64: frozenset({int, float}),
    Scalar.DATE: frozenset({int, str}),
    Scalar.DATETIME: frozenset({int, str}),
}
_INTEGER_KINDS: frozenset[type] = frozenset({int})

_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_FIRST_DAY = -719162  # 0001-01-01, the first that the exact rules read
_FIRST_MOMENT = (_FIRST_DAY + 1) * 86_400_000_000  # a day later: a zone may hide year 0


class NeedsExactReading(Exception):
    """The column holds a value that only the exact rules can decide on."""


def json_column(values: JsonValues, type_: PropertyType) -> pa.Array:
    """The Arrow column of JSON values, null for None; `NeedsExactReading` when in doubt."""
    try:
        if type_.is_list or type_.is_vector:
            return _nested(values, type_)
        return _scalars(values, type_.scalar)
    except (ValueProblem, OverflowError, pa.ArrowException) as error:
        raise NeedsExactReading from error


def _kinds(values: JsonValues, allowed: frozenset[type]) -> set[type]:
    kinds = set(map(type, values)) - {_NULL}
    if not kinds <= allowed:
        raise NeedsExactReading
    return kinds


def _scalars(values: JsonValues, scalar: Scalar) -> pa.Array:
    kinds = _kinds(values, _KINDS.get(scalar, _INTEGER_KINDS))
    target = arrow_type(scalar_type(scalar))
    if scalar in FLOATS:
        return _floats(values, kinds, target)
    if scalar is Scalar.BLOB:
        return pa.array([v if v is None else blob_bytes(v) for v in values], target)
    if scalar is Scalar.DATE or scalar is Scalar.DATETIME:
        return _times(values, kinds, scalar).cast(target)
    return pa.array(values, target)


def _floats(values: JsonValues, kinds: set[type], target: pa.DataType) -> pa.Array:
    if int in kinds:  # Arrow refuses integers past 2**53; JSON numbers are rounded
        values = [v if v is None else float(v) for v in values]
    return finite(pa.array(values, pa.float64()).cast(target, safe=False))


def finite(numbers: pa.Array) -> pa.Array:
    """The numbers themselves; `NeedsExactReading` if one is NaN or infinite."""
    if pc.all(pc.is_finite(numbers)).as_py() is False:
        raise NeedsExactReading
    return numbers


# --------------------------------------------------------------------------- time


def _times(values: JsonValues, kinds: set[type], scalar: Scalar) -> pa.Array:
    numbers = pa.int32() if scalar is Scalar.DATE else pa.int64()
    if str not in kinds:
        return pa.array(values, numbers)
    if int not in kinds:
        texts = pa.array(values, pa.utf8())
        return text_days(texts) if scalar is Scalar.DATE else text_micros(texts)
    read = date_days if scalar is Scalar.DATE else moment_micros
    return pa.array([read(v) if type(v) is str else v for v in values], numbers)


def text_days(texts: pa.Array) -> pa.Array:
    """Day numbers (int32) of `YYYY-MM-DD` texts."""
    if _all_match(texts, _DATE):
        days = _cast(texts, pa.date32(), pa.int32())
        if days is not None and _none_below(days, _FIRST_DAY):
            return days
    return pa.array([v if v is None else date_days(v) for v in texts.to_pylist()], pa.int32())


def text_micros(texts: pa.Array) -> pa.Array:
    """Microseconds (int64) of ISO 8601 texts."""
    micros = None
    if _all_match(texts, _MOMENT + "$"):
        micros = _cast(texts, pa.timestamp("us"), pa.int64())
    elif _all_match(texts, _MOMENT + r"(?:Z|[+-](?:0[0-9]|1[0-9]):[0-5][0-9])$"):
        micros = _cast(texts, pa.timestamp("us", "UTC"), pa.int64())
    if micros is not None and _none_below(micros, _FIRST_MOMENT):
        return micros
    # A spelling that Arrow does not read, or several in one column.
    return pa.array([v if v is None else moment_micros(v) for v in texts.to_pylist()], pa.int64())


def _cast(texts: pa.Array, through: pa.DataType, to: pa.DataType) -> pa.Array | None:
    try:
        return texts.cast(through).cast(to)
    except pa.ArrowInvalid:
        return None


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _none_below(numbers: pa.Array, first: int) -> bool:
    """Arrow reads year 0, which the exact rules do not."""
    least = pc.min(numbers).as_py()
    return least is None or least >= first


# --------------------------------------------------------------------------- nested


def _nested(values: JsonValues, type_: PropertyType) -> pa.Array:
    """A column of lists or of vectors."""
    _kinds(values, frozenset({list}))
    present = [v for v in values if v is not None]
    if type_.is_vector and set(map(len, present)) - {type_.dimension}:
        raise NeedsExactReading
    elements = _scalars(list(chain.from_iterable(present)), type_.scalar)
    if elements.null_count:
        raise NeedsExactReading
    missing = None
    if len(present) < len(values):
        missing = pa.array([v is None for v in values], pa.bool_())
    if type_.is_vector:
        return vector_array(elements, arrow_type(type_), missing)
    lengths = np.fromiter((0 if v is None else len(v) for v in values), np.int64, len(values))
    return list_array(lengths, elements, arrow_type(type_), missing)


def list_array(
    lengths: np.ndarray[Any, Any], elements: pa.Array, target: pa.DataType, missing: pa.Array | None
) -> pa.Array:
    """A list column from the length of each list and all elements in a row."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > 2**31 - 1:
        raise NeedsExactReading
    whole = pa.array(offsets.astype(np.int32))
    return pa.ListArray.from_arrays(whole, elements, type=target, mask=missing)


def vector_array(elements: pa.Array, target: pa.DataType, missing: pa.Array | None) -> pa.Array:
    """A vector column from the elements of the vectors that are there, all in a row."""
    if missing is None:
        return pa.FixedSizeListArray.from_arrays(elements, type=target)
    if len(elements) == 0:
        return pa.nulls(len(missing), target)
    numbers = np.zeros((len(missing), target.list_size), np.float32)
    present = ~missing.to_numpy(zero_copy_only=False)
    numbers[present] = elements.to_numpy(zero_copy_only=False).reshape(-1, target.list_size)
    flat = pa.array(numbers.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, type=target, mask=missing)
