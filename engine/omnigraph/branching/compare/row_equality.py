"""Row equality: when two states of an entity are the same.

The rules are docs/design/branching.md#4-diff.

Typed and exact: null is not `""` and not `[]`, lists count by element and order, floats by their
bits (so that -0.0 is not 0.0, and a NaN equals itself), Blobs by content.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Mask
from omnigraph.common.arrow_arrays import one_array

_BITS = {pa.float16(): pa.uint16(), pa.float32(): pa.uint32(), pa.float64(): pa.uint64()}

_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def differing(left: pa.Table, right: pa.Table) -> Mask:
    """Which rows differ in any column; the tables have the same columns and as many rows."""
    mask: Mask = np.zeros(left.num_rows, np.bool_)
    for name in left.column_names:
        columns = (table.column(name) for table in (left, right))
        mask |= ~_equal(*(one_array(column.chunks, column.type) for column in columns))
    return mask


def _equal(left: pa.Array, right: pa.Array) -> Mask:
    type_ = left.type
    if any(is_list(type_) for is_list in _LISTS):
        return _equal_lists(left, right)
    if pa.types.is_struct(type_):
        return _equal_structs(left, right)
    if pa.types.is_nested(type_):  # maps and unions, which only plain tables have
        return np.zeros(len(left), np.bool_)
    bits = _BITS.get(type_)
    if bits is not None:
        left, right = left.view(bits), right.view(bits)
    same = _truth(pc.fill_null(pc.equal(left, right), False))
    if left.null_count and right.null_count:
        same |= _truth(pc.and_(left.is_null(), right.is_null()))
    return same


def _equal_structs(left: pa.StructArray, right: pa.StructArray) -> Mask:
    same = _truth(pc.equal(left.is_null(), right.is_null()))
    for one, other in zip(left.flatten(), right.flatten(), strict=True):
        same &= _equal(one, other)
    return same


def _equal_lists(left: pa.Array, right: pa.Array) -> Mask:
    """Lists of the same length are laid end to end and compared element by element."""
    lengths, others = pc.list_value_length(left), pc.list_value_length(right)
    same = _equal(lengths, others)
    candidates = same & _truth(left.is_valid())
    chosen = pa.array(candidates)
    elements = _equal(pc.list_flatten(left.filter(chosen)), pc.list_flatten(right.filter(chosen)))
    differences = np.concatenate([[0], np.cumsum(~elements)])
    ends = np.cumsum(lengths.filter(chosen).to_numpy(zero_copy_only=False))
    same[candidates] = np.diff(differences[np.concatenate([[0], ends])]) == 0
    return same


def _truth(values: pa.BooleanArray) -> Mask:
    result: Mask = values.to_numpy(zero_copy_only=False).copy()
    return result
