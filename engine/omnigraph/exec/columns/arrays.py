"""Small tools over numpy and Arrow arrays that every part of execution uses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Ints, Mask

Handles: TypeAlias = npt.NDArray[np.integer[Any]]
"""Dense ids of nodes, or positions of edges: what a variable is bound to, row by row."""
AnyArray: TypeAlias = npt.NDArray[Any]

_INT32 = 2**31 - 1


def index_dtype(limit: int) -> type[np.int32] | type[np.int64]:
    """The smallest index type that holds numbers up to the limit."""
    return np.int32 if limit <= _INT32 else np.int64


def index_ranges(starts: AnyArray, counts: AnyArray) -> Ints:
    """For each row the numbers start, start+1, … (count of them), all rows one after the other."""
    total = int(counts.sum())
    ends = np.cumsum(counts, dtype=np.int64)
    numbers: Ints = np.arange(total, dtype=np.int64)
    numbers += np.repeat(starts - ends + counts, counts)
    return numbers


def ascending(keys: AnyArray) -> AnyArray:
    """The distinct numbers, ascending; numpy itself would hash them, ten times slower."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def distinct(keys: AnyArray, limit: int) -> AnyArray:
    """The distinct numbers below the limit, ascending."""
    if len(keys) * 8 < limit:
        return ascending(keys)
    seen = np.zeros(limit, np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen).astype(keys.dtype, copy=False)


def ranked(column: pa.Array) -> tuple[Ints, pa.Array]:
    """The rank of each value among the distinct ones, -1 for null; and these, ascending."""
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    by_code: Ints = np.empty(len(order) + 1, np.int64)
    by_code[order.to_numpy()] = np.arange(len(order))
    by_code[-1] = -1
    codes = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return by_code[codes], encoded.dictionary.take(order)


def constant(value: Any, type_: pa.DataType, rows: int) -> pa.Array:  # noqa: ANN401
    """A column that holds one value in every row."""
    return pa.repeat(pa.scalar(value, type_), rows)


def truth(array: pa.Array) -> Mask:
    """A Boolean array as a mask in which null is false."""
    if array.null_count:
        array = array.fill_null(False)
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask
