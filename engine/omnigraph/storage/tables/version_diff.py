"""Which rows of two versions of a table can differ, found without reading what they share.

Versions are built from one another: most fragments of one are the files of the other. A fragment
with the same data files and the same deletion file holds the same rows. With another deletion file
only the rows that are live in one version alone can differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    OFFSETS,
    Addresses,
    address_condition,
    split_by_fragment,
)
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.fragment_stats import FragmentStats
from omnigraph.storage.tables.tables import TableStore

TAKE_ROWS = 4096
"""Up to this many rows of a fragment are read one by one; for more, all of it is scanned."""
BATCH_ROWS = 8192
BATCH_BYTES = 16 << 20

_Files = tuple[str, tuple[tuple[int, ...], ...]]


@dataclass(frozen=True, slots=True)
class RowSet:
    """Some rows of a table version: whole fragments, and single rows of others."""

    version: TableVersion
    fragments: tuple[int, ...]
    addresses: Addresses
    rows: int
    bytes: int
    """About how much reading them takes."""


def differing_rows(
    tables: TableStore, before: TableVersion, after: TableVersion
) -> tuple[RowSet, RowSet]:
    """The rows of each version that the other may not have."""
    if before.location != after.location:
        return all_rows(tables, before), all_rows(tables, after)
    old, new = _by_files(tables, before), _by_files(tables, after)
    old_rows, new_rows = [], []
    for files in old.keys() & new.keys():
        earlier, later = old[files], new[files]
        if earlier.key == later.key:
            continue
        deleted, deleted_after = tables.deleted(before, earlier.id), tables.deleted(after, later.id)
        old_rows.append(_addresses(earlier, _without(deleted_after, deleted)))
        new_rows.append(_addresses(later, _without(deleted, deleted_after)))
    return (
        _row_set(tables, before, [f.id for k, f in old.items() if k not in new], old_rows),
        _row_set(tables, after, [f.id for k, f in new.items() if k not in old], new_rows),
    )


def common_rows(tables: TableStore, one: RowSet, other: RowSet) -> RowSet:
    """The rows that two sets of rows of one version share."""
    whole = [fragment for fragment in one.fragments if fragment in other.fragments]
    single = [
        np.intersect1d(one.addresses, other.addresses, assume_unique=True),
        _within(one.addresses, other.fragments),
        _within(other.addresses, one.fragments),
    ]
    return _row_set(tables, one.version, whole, single)


def split_by_overlap(tables: TableStore, rows: RowSet, others: RowSet) -> tuple[RowSet, Addresses]:
    """A set of rows of a version in two: the single rows that another set does not have, and the
    rest, which are whole fragments and what both sets share."""
    shared = common_rows(tables, rows, others)
    alone = _without(rows.addresses, shared.addresses)
    rest = _without(rows.addresses, alone)
    return _row_set(tables, rows.version, rows.fragments, [rest]), alone


def rows_at(tables: TableStore, version: TableVersion, addresses: Addresses) -> RowSet:
    """The rows of a version at some addresses."""
    return _row_set(tables, version, [], [addresses])


def _within(addresses: Addresses, fragments: Sequence[int]) -> Addresses:
    return addresses[np.isin(addresses >> np.uint64(32), np.array(fragments, np.uint64))]


def surviving_addresses(
    tables: TableStore, before: TableVersion, after: TableVersion, addresses: Addresses
) -> tuple[Addresses, npt.NDArray[np.bool_]]:
    """Where a version has the rows that another one has at some addresses, and for which it is
    known; rows that were written again in between are not."""
    later, known = np.zeros_like(addresses), np.zeros(len(addresses), np.bool_)
    if before.location != after.location:
        return later, known
    today = _by_files(tables, after)
    owners = addresses >> np.uint64(32)
    for files, fragment in _by_files(tables, before).items():
        members = np.flatnonzero(owners == fragment.id)
        if len(members) and files in today:
            offsets = addresses[members] & OFFSETS
            known[members] = ~np.isin(offsets, tables.deleted(after, today[files].id))
            later[members] = _addresses(today[files], offsets)
    return later, known


def stored_bytes(tables: TableStore, version: TableVersion) -> int:
    """About how much a version takes in the store."""
    return sum(fragment.bytes for fragment in tables.fragments(version))


def with_blobs(tables: TableStore, rows: RowSet, columns: Sequence[str]) -> RowSet:
    """The same rows with the contents of some Blob columns counted among their bytes."""
    if not columns or not rows.rows:
        return rows
    size = 0
    for batch in read_rows(tables, rows, columns, blobs="blobs_descriptions"):
        for column in batch.columns:
            size += pc.sum(pc.struct_field(column, "size")).as_py() or 0
    return replace(rows, bytes=rows.bytes + size)


def all_rows(tables: TableStore, version: TableVersion) -> RowSet:
    """Every row of a version."""
    return _row_set(tables, version, [f.id for f in tables.fragments(version)], [])


def read_rows(
    tables: TableStore,
    rows: RowSet,
    columns: Sequence[str],
    *,
    addresses: bool = False,
    blobs: str = "all_binary",
) -> Iterator[pa.RecordBatch]:
    """Some columns of a set of rows, in no particular order; Blobs come as their bytes."""
    per_row = rows.bytes // max(rows.rows, 1)
    batch_rows = min(max(BATCH_BYTES // max(per_row, 1), 1), BATCH_ROWS)

    scan = partial(
        tables.scan, rows.version, columns=list(columns), batch_rows=batch_rows, blobs=blobs
    )
    if rows.fragments:
        yield from scan(fragments=rows.fragments, addresses=addresses)
    for fragment_id, single in split_by_fragment(rows.addresses):
        if len(single) <= TAKE_ROWS:
            condition = address_condition(single)
            yield from scan(fragments=[fragment_id], addresses=addresses, condition=condition)
            continue
        beyond = int(single.max() & OFFSETS) + 1
        chosen = np.zeros(beyond + 1, np.bool_)
        chosen[single & OFFSETS] = True
        for batch in scan(fragments=[fragment_id], addresses=True):
            offsets = batch.column("_rowaddr").to_numpy() & OFFSETS
            found = batch.filter(pa.array(chosen[np.minimum(offsets, np.uint64(beyond))]))
            if found.num_rows:
                yield found if addresses else found.select(list(columns))


def _by_files(tables: TableStore, version: TableVersion) -> dict[_Files, FragmentStats]:
    """Fragments by what they are made of: a fragment's number says nothing across versions."""
    return {(fragment.files, fragment.fields): fragment for fragment in tables.fragments(version)}


def _without(offsets: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.setdiff1d(offsets, others, assume_unique=True)


def _addresses(fragment: FragmentStats, offsets: npt.NDArray[np.integer[Any]]) -> Addresses:
    return offsets.astype(np.uint64) | np.uint64(fragment.id << 32)


def _row_set(
    tables: TableStore, version: TableVersion, whole: Sequence[int], single: Sequence[Addresses]
) -> RowSet:
    addresses = np.concatenate([NO_ADDRESSES, *single])
    fragments = {fragment.id: fragment for fragment in tables.fragments(version)}
    of_single = sum(
        fragments[i].bytes * len(rows) // max(fragments[i].physical, 1)
        for i, rows in split_by_fragment(addresses)
    )
    return RowSet(
        version,
        tuple(whole),
        addresses,
        sum(fragments[i].rows for i in whole) + len(addresses),
        sum(fragments[i].bytes for i in whole) + of_single,
    )
