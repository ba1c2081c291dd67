"""Joins by value: the entities of one variable by a property that equals one of another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Ints
from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.evaluate.comparison import is_number
from omnigraph.exec.graph.graph_view import Entities, EntitySet


class ValueIndex:
    """Given entities by the value of a property, to be found by values of one other property.

    Values are compared once for every two that differ, not once for every row: rows go by the
    small numbers that stand for values.
    """

    def __init__(self, entities: EntitySet, name: str, handles: Handles) -> None:
        codes = entities.group_codes(name, handles)
        present = np.flatnonzero(np.bincount(codes))
        self._values = entities.decoded(name, present)
        if pa.types.is_floating(self._values.type):
            # Both zeros are one value.
            folded = _as_floats(self._values).dictionary_encode(null_encoding="encode")
            numbers = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
            numbers[present] = folded.indices.to_numpy()
            codes, self._values = numbers[codes], folded.dictionary
        self.order = np.argsort(codes, kind="stable")
        """Where the entities are among those given, those of one value next to each other."""
        counts = np.bincount(codes)
        self._counts = counts[counts > 0]
        self._starts = np.cumsum(self._counts) - self._counts
        self._value_numbers: Ints = np.empty(0, np.int64)

    def find(self, entities: EntitySet, name: str, handles: Handles) -> tuple[Ints, Ints]:
        """For each of some other entities, where the equal ones start in `order`, and how many.

        A null equals nothing.
        """
        codes = entities.group_codes(name, handles)
        order = self._numbers_of(entities, name, codes)[codes]
        found = order >= 0
        starts, counts = np.zeros((2, len(codes)), np.int64)
        starts[found] = self._starts[order[found]]
        counts[found] = self._counts[order[found]]
        return starts, counts

    def _numbers_of(self, entities: EntitySet, name: str, codes: AnyArray) -> Ints:
        """The number of each of the others' values among ours, -1 where there is none."""
        size = int(codes.max(initial=-1)) + 1
        if isinstance(entities, Entities):
            size = max(size, len(entities.codes(name)[1]))
        if size > len(self._value_numbers):
            fresh = np.arange(len(self._value_numbers), size)
            ours, theirs = comparable(self._values, entities.decoded(name, fresh))
            order = pc.index_in(theirs, value_set=ours, skip_nulls=True).fill_null(-1)
            found = order.to_numpy(zero_copy_only=False).astype(np.int64)
            self._value_numbers = np.concatenate([self._value_numbers, found])
        return self._value_numbers


def comparable(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Two columns as ones of a single type, in which equal values, and only these, are equal."""
    if not is_number(left.type):
        return left, right if right.type == left.type else right.cast(left.type)
    types = (left.type, right.type)
    if all(map(pa.types.is_floating, types)):
        return _as_floats(left), _as_floats(right)
    whole = pa.uint64() if pa.uint64() in types else pa.int64()
    return _as_whole(left, whole), _as_whole(right, whole)


def _as_floats(array: pa.Array) -> pa.Array:
    # Adding zero makes both zeros one.
    return pc.add(array.cast(pa.float64()), 0.0)


def _as_whole(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Numbers as integers, null where the type has no such integer."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    low, high = (0, 2**64) if type_ == pa.uint64() else (-(2**63), 2**63)
    if numbers.dtype.kind == "f":
        fits = (numbers >= low) & (numbers < high) & (np.floor(numbers) == numbers)
    else:
        fits = (numbers >= low) & (numbers <= high - 1)
    fits &= valid
    whole = np.where(fits, numbers, 0).astype(type_.to_pandas_dtype())
    return pa.array(whole, type_, mask=~fits)
