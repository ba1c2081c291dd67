"""Row addresses: the fragment in the upper half, the row within it in the lower."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Addresses = npt.NDArray[np.uint64]
NO_ADDRESSES: Addresses = np.empty(0, np.uint64)
OFFSETS = np.uint64(0xFFFFFFFF)
"""The part of an address that says which row of its fragment it is."""


def distinct(*addresses: npt.NDArray[np.unsignedinteger[Any]]) -> Addresses:
    """Addresses put together in order, each once; much faster than numpy's hashing `unique`."""
    ordered = np.sort(np.concatenate([NO_ADDRESSES, *addresses]))
    first: npt.NDArray[np.bool_] = np.diff(ordered, prepend=ordered[:1] + np.uint64(1)) != 0
    found: Addresses = ordered[first]
    return found


def split_by_fragment(addresses: Addresses) -> Iterator[tuple[int, Addresses]]:
    """Addresses grouped by the fragment they are in."""
    ordered = distinct(addresses)
    if not len(ordered):
        return
    owners = (ordered >> np.uint64(32)).astype(np.int64)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(ordered)], strict=True):
        yield int(owners[start]), ordered[start:stop]


def address_condition(addresses: Addresses) -> str:
    return f"_rowaddr IN ({', '.join(map(str, addresses.tolist()))})"


def with_addresses(rows: pa.Table, fragment_id: int) -> pa.Table:
    """Rows with their addresses in a fragment of that number; of number 0, their offsets."""
    offsets = pc.bit_wise_and(rows.column("_rowaddr"), pa.scalar(int(OFFSETS), pa.uint64()))
    addresses = pc.add(offsets, pa.scalar(fragment_id << 32, pa.uint64()))
    return rows.set_column(rows.schema.get_field_index("_rowaddr"), "_rowaddr", addresses)
