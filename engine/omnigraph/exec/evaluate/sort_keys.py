"""The total order of reads: null below every value, ties broken by ids; top rows cheaply.

The rules are docs/design/query-language.md#5-ordering.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from omnigraph.exec.columns.arrays import AnyArray, Handles, ranked
from omnigraph.exec.graph.bindings import CHUNK, Bindings, concat
from omnigraph.exec.graph.graph_view import EntitySet

_LOWEST = np.int64(-(2**63))


@dataclass(frozen=True)
class SortKey:
    """A column to sort by, computed for any rows of a match."""

    column: Callable[[Bindings], pa.Array]
    descending: bool


@dataclass(frozen=True)
class SortOrder:
    """Keys, the most important first, and the variables whose ids then break ties."""

    keys: Sequence[SortKey]
    ties: Sequence[tuple[str, EntitySet]]


def sortable(array: pa.Array) -> AnyArray:
    """Integers in the order of the values of this array; null is below all others.

    Except for text and null, they compare with those of other arrays of the same type.
    """
    type_ = array.type
    if pa.types.is_dictionary(type_):
        array, type_ = array.dictionary_decode(), type_.value_type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return ranked(array)[0]
    if pa.types.is_nested(type_):
        return _nested_ranks(array)
    if pa.types.is_date32(type_):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(type_):
        array = array.cast(pa.int64())
    elif pa.types.is_boolean(type_):
        array = array.cast(pa.int8())
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    values = (array if nulls is None else array.fill_null(0)).to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f":
        # The bits of a float, read as an integer, are in order once negatives are turned round.
        bits = (values.astype(np.float64) + 0.0).view(np.int64)
        values = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    elif values.dtype == np.uint64:
        values = (values ^ np.uint64(2**63)).view(np.int64)
    else:
        values = values.astype(np.int64)
    if nulls is not None:
        values[nulls] = _LOWEST
    return np.asarray(values)


def _nested_ranks(array: pa.Array) -> AnyArray:
    values = [None if value is None else tuple(value) for value in array.to_pylist()]
    ranks = {
        value: rank for rank, value in enumerate(sorted(v for v in set(values) if v is not None))
    }
    return np.array([-1 if value is None else ranks[value] for value in values], np.int64)


def sorted_indices(
    columns: Sequence[tuple[pa.Array, bool]],
    ties: Sequence[Callable[[AnyArray], AnyArray]],
    rows: int,
    limit: int | None = None,
) -> AnyArray:
    """The indices of rows in order, the best `limit` of them.

    A tie gives, for some rows, integers in tie-breaking order.
    """
    keys: list[AnyArray] = []  # the most important first
    for array, descending in columns:
        codes = [sortable(array)]
        if array.null_count:  # whether there is a value outranks the value
            codes.insert(0, array.is_valid().to_numpy(zero_copy_only=False))
        keys += [~key if descending else key for key in codes]
    order = np.lexsort(tuple(reversed(keys))) if keys else np.arange(rows)
    return _break_ties(order, keys, ties, limit)


def _break_ties(
    order: AnyArray,
    keys: Sequence[AnyArray],
    ties: Sequence[Callable[[AnyArray], AnyArray]],
    limit: int | None,
) -> AnyArray:
    stop = len(order) if limit is None else min(limit, len(order))
    if not stop or not ties:
        return order[:stop]
    first = np.ones(len(order), np.bool_)
    first[1:] = False
    for key in keys:
        placed = key[order]
        first[1:] |= placed[1:] != placed[:-1]
    # Rows beyond the limit matter as far as they tie with the last one within it.
    later = np.flatnonzero(first[stop:])
    end = stop + int(later[0]) if len(later) else len(order)
    order, first = order[:end], first[:end]
    alone = first.copy()
    alone[:-1] &= first[1:]
    tied = np.flatnonzero(~alone)
    if len(tied):
        indices = order[tied]
        runs = np.cumsum(first)[tied]
        again = np.lexsort((*(tie(indices) for tie in reversed(ties)), runs))
        order = order.copy()
        order[tied] = indices[again]
    return order[:stop]


def id_ranks(entities: EntitySet, handles: Handles) -> AnyArray:
    """Integers in the order of the ids of entities."""
    distinct, which = np.unique(handles, return_inverse=True)
    return np.asarray(ranked(entities.ids(distinct))[0][which])


def ids_in_order(rows: Bindings, name: str, entities: EntitySet) -> Callable[[AnyArray], AnyArray]:
    """A tie-breaker: for some rows, integers in the order of the ids of a variable."""
    return lambda indices: id_ranks(entities, rows[name][indices])


class Sorter:
    """Collects rows of a match and puts them in order; with a limit it holds little more."""

    def __init__(self, order: SortOrder, limit: int | None) -> None:
        self._keys = order.keys
        self._ties = order.ties
        self._limit = limit
        self._parts: list[Bindings] = []
        self._buffered = 0
        self._worst: np.int64 | None = None

    def add(self, rows: Bindings) -> None:
        if self._limit is None:
            self._parts.append(rows)
            return
        if self._limit == 0:
            return
        rows = self._promising(rows)
        if rows.count:
            self._parts.append(rows)
            self._buffered += rows.count
        if self._buffered > max(4 * self._limit, CHUNK):
            self._parts = [self.finish()]
            self._buffered = self._parts[0].count

    def _promising(self, rows: Bindings) -> Bindings:
        """Without the rows that many others beat on the first key alone."""
        assert self._limit is not None
        if not self._keys or (self._worst is None and rows.count <= 4 * self._limit):
            return rows
        key = self._keys[0]
        column = key.column(rows)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return rows
        codes = sortable(column)
        if key.descending:
            codes = ~codes
        if rows.count > self._limit:
            worst = np.partition(codes, self._limit - 1)[self._limit - 1]
            if self._worst is None or worst < self._worst:
                self._worst = worst
        return rows if self._worst is None else rows.take(codes <= self._worst)

    def finish(self) -> Bindings:
        """The rows in order."""
        rows = concat(self._parts)
        if not rows.count:
            return rows
        columns = [(key.column(rows), key.descending) for key in self._keys]
        ties = [ids_in_order(rows, name, entities) for name, entities in self._ties]
        return rows.take(sorted_indices(columns, ties, rows.count, self._limit))
