"""Which rows of two versions of a table can differ, found without reading what they share.

Versions are built from one another: most fragments of one are the files of the other. A fragment
with the same data files and the same deletion file holds the same rows. With another deletion file
only the rows that are live in one version alone can differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment

from omnigraph.storage.core.read_errors import guarded, read_error
from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    OFFSETS,
    Addresses,
    address_condition,
    split_by_fragment,
)
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore

TAKE_ROWS = 4096
"""Up to this many rows of a fragment are read one by one; for more, all of it is scanned."""
BATCH_ROWS = 8192
BATCH_BYTES = 16 << 20

_Files = tuple[tuple[str, tuple[int, ...]], ...]


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
    old, new = _by_files(tables.open(before)), _by_files(tables.open(after))
    old_gone, new_gone = [], []
    for files in old.keys() & new.keys():
        mine, others = old[files], new[files]
        if _deletions(mine) == _deletions(others):
            continue
        left, left_after = tables.deleted(before, mine), tables.deleted(after, others)
        old_gone.append(_addresses(mine, np.setdiff1d(left_after, left, assume_unique=True)))
        new_gone.append(_addresses(others, np.setdiff1d(left, left_after, assume_unique=True)))
    return (
        _row_set(
            before, [f for files, f in old.items() if files not in new], old_gone, old.values()
        ),
        _row_set(
            after, [f for files, f in new.items() if files not in old], new_gone, new.values()
        ),
    )


def common_rows(tables: TableStore, one: RowSet, other: RowSet) -> RowSet:
    """The rows that two sets of rows of one version share."""
    fragments = {f.fragment_id: f for f in tables.open(one.version).get_fragments()}
    whole = [fragments[i] for i in one.fragments if i in other.fragments]
    return _row_set(
        one.version,
        whole,
        [
            np.intersect1d(one.addresses, other.addresses, assume_unique=True),
            _within(one.addresses, other.fragments),
            _within(other.addresses, one.fragments),
        ],
        fragments.values(),
    )


def split_by_overlap(tables: TableStore, rows: RowSet, others: RowSet) -> tuple[RowSet, Addresses]:
    """A set of rows of a version in two: the single rows that another set does not have, and the
    rest, which are whole fragments and what both sets share."""
    shared = common_rows(tables, rows, others)
    alone = np.setdiff1d(rows.addresses, shared.addresses, assume_unique=True)
    fragments = {f.fragment_id: f for f in tables.open(rows.version).get_fragments()}
    whole = [fragments[i] for i in rows.fragments]
    rest = np.setdiff1d(rows.addresses, alone, assume_unique=True)
    return _row_set(rows.version, whole, [rest], fragments.values()), alone


def rows_at(tables: TableStore, version: TableVersion, addresses: Addresses) -> RowSet:
    """The rows of a version at some addresses."""
    return _row_set(version, [], [addresses], tables.open(version).get_fragments())


def _within(addresses: Addresses, fragments: Sequence[int]) -> Addresses:
    return addresses[np.isin(addresses >> np.uint64(32), np.array(fragments, np.uint64))]


def surviving_addresses(
    tables: TableStore, before: TableVersion, after: TableVersion, addresses: Addresses
) -> tuple[Addresses, npt.NDArray[np.bool_]]:
    """Where a version has the rows that another one has at some addresses, and for which it is
    known; rows that were written again in between are not."""
    places, known = np.zeros_like(addresses), np.zeros(len(addresses), np.bool_)
    if before.location != after.location:
        return places, known
    today = _by_files(tables.open(after))
    owners = addresses >> np.uint64(32)
    for files, fragment in _by_files(tables.open(before)).items():
        members = np.flatnonzero(owners == fragment.fragment_id)
        if len(members) and files in today:
            offsets = addresses[members] & OFFSETS
            known[members] = ~np.isin(offsets, tables.deleted(after, today[files]))
            places[members] = _addresses(today[files], offsets)
    return places, known


def stored_bytes(tables: TableStore, version: TableVersion) -> int:
    """About how much a version takes in the store."""
    return sum(map(_bytes, tables.open(version).get_fragments()))


def with_blobs(tables: TableStore, rows: RowSet, columns: Sequence[str]) -> RowSet:
    """The same rows with the contents of some Blob columns counted among their bytes."""
    if not columns or not rows.rows:
        return rows
    size = 0
    for batch in _selected(tables, rows, columns, "blobs_descriptions"):
        for column in batch.columns:
            size += pc.sum(pc.struct_field(column, "size")).as_py() or 0
    return replace(rows, bytes=rows.bytes + size)


def all_rows(tables: TableStore, version: TableVersion) -> RowSet:
    """Every row of a version."""
    return _row_set(version, tables.open(version).get_fragments(), [], [])


def read_rows(
    tables: TableStore, rows: RowSet, columns: Sequence[str], *, addresses: bool = False
) -> Iterator[pa.RecordBatch]:
    """Some columns of a set of rows, in no particular order; Blobs come as their bytes."""
    return _selected(tables, rows, columns, "all_binary", addresses)


def _selected(
    tables: TableStore, rows: RowSet, columns: Sequence[str], blobs: str, addressed: bool = False
) -> Iterator[pa.RecordBatch]:
    per_row = rows.bytes // max(rows.rows, 1)
    batch_rows = min(max(BATCH_BYTES // max(per_row, 1), 1), BATCH_ROWS)

    def scan(
        fragments: list[LanceFragment], condition: str | None = None, addresses: bool = addressed
    ) -> Iterator[pa.RecordBatch]:
        try:
            reader = dataset.scanner(
                columns=list(columns),
                filter=condition,
                fragments=fragments,
                with_row_address=addresses,
                batch_size=batch_rows,
                blob_handling=blobs,
            ).to_reader()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise read_error(rows.version, error) from error
        return guarded(reader, rows.version)

    dataset = tables.open(rows.version)
    if rows.fragments:
        yield from scan([dataset.get_fragment(i) for i in rows.fragments])
    for fragment_id, addresses in split_by_fragment(rows.addresses):
        found = dataset.get_fragment(fragment_id)
        fragment = [found]
        if len(addresses) <= TAKE_ROWS:
            yield from scan(fragment, address_condition(addresses))
            continue
        wanted = np.zeros(found.physical_rows, np.bool_)
        wanted[addresses & OFFSETS] = True
        for batch in scan(fragment, addresses=True):
            places = batch.column("_rowaddr").to_numpy() & OFFSETS
            kept = batch.filter(pa.array(wanted[places]))
            if kept.num_rows:
                yield kept if addressed else kept.select(list(columns))


def _by_files(dataset: LanceDataset) -> dict[_Files, LanceFragment]:
    """Fragments by what they are made of: a fragment's number says nothing across versions."""
    return {
        tuple((str(file.path), tuple(file.fields)) for file in fragment.metadata.files): fragment
        for fragment in dataset.get_fragments()
    }


def _deletions(fragment: LanceFragment) -> str | None:
    deleted = fragment.metadata.deletion_file
    return str(deleted.path(fragment.fragment_id)) if deleted else None


def _addresses(fragment: LanceFragment, offsets: npt.NDArray[np.integer[Any]]) -> Addresses:
    return offsets.astype(np.uint64) | np.uint64(fragment.fragment_id << 32)


def _row_set(
    version: TableVersion,
    whole: Sequence[LanceFragment],
    single: Sequence[Addresses],
    among: Iterable[LanceFragment],
) -> RowSet:
    addresses = np.concatenate([NO_ADDRESSES, *single])
    known = {fragment.fragment_id: fragment for fragment in among}
    partial = sum(
        _bytes(known[i]) * len(rows) // max(known[i].physical_rows, 1)
        for i, rows in split_by_fragment(addresses)
    )
    return RowSet(
        version,
        tuple(fragment.fragment_id for fragment in whole),
        addresses,
        sum(fragment.metadata.num_rows for fragment in whole) + len(addresses),
        sum(map(_bytes, whole)) + partial,
    )


def _bytes(fragment: LanceFragment) -> int:
    return sum(file.file_size_bytes or 0 for file in fragment.metadata.files)
