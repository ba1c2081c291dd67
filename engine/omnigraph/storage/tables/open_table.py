"""A handle on one table version: the Lance dataset, which stays inside this folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pyarrow as pa
from lance import LanceDataset

from omnigraph.storage.core.read_errors import guarded, is_store_failure, reading
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.digest_names import damaged_file

FRUGAL = {
    "batch_readahead": 1,
    "fragment_readahead": 1,
    "io_buffer_size": 8 << 20,
    "batch_size_bytes": 2 << 20,
}
"""By default Lance reads up to 2 GiB ahead, and batches have so many rows, however wide."""


class ScanOptions(TypedDict, total=False):
    """What to read of a table version; by default all of it, with Blobs as their bytes."""

    columns: Sequence[str] | Mapping[str, str] | None
    """Names, or names to expressions over the stored columns."""
    condition: str | None
    """A filter in Lance's SQL."""
    fragments: Iterable[int]
    """Only rows of these."""
    addresses: bool
    """Whether to add the column `_rowaddr`."""
    limit: int | None
    order_by: Sequence[str] | None
    batch_rows: int | None
    blobs: str
    """How Blobs come, in the words of Lance."""
    frugal: bool
    """Whether little is read ahead: for scans of everything in bounded memory."""


@dataclass(frozen=True, slots=True)
class OpenTable:
    """One version and its dataset."""

    version: TableVersion
    dataset: LanceDataset

    def scan(self, **options: Unpack[ScanOptions]) -> Iterator[pa.RecordBatch]:
        """Stream rows, in order; a condition that cannot be applied fails at once."""
        return guarded(self.reader(**options), self.version, self.find_damage)

    def read(self, **options: Unpack[ScanOptions]) -> pa.Table:
        """The same, as a table."""
        reader = self.reader(**options)
        batches = guarded(reader, self.version, self.find_damage)
        return pa.Table.from_batches(batches, schema=reader.schema)

    def find_damage(self) -> str | None:
        """A file of a local table that is not what was written, after a read failed."""
        try:
            found = damaged_file(self.dataset)
        except BaseException as error:  # what failed before is told then
            if not is_store_failure(error):
                raise
            return None
        return f"{self.version.location}/{found}" if found else None

    def reader(self, **options: Unpack[ScanOptions]) -> pa.RecordBatchReader:
        """The same, for Lance to read: failures of the store come as they are."""
        columns, fragments = options.get("columns"), options.get("fragments")
        if columns is not None:
            columns = dict(columns) if isinstance(columns, Mapping) else list(columns)
        chosen = None if fragments is None else [*map(self.dataset.get_fragment, fragments)]
        ahead = FRUGAL if options.get("frugal") else {}
        with reading(self.version, self.find_damage):
            return self.dataset.scanner(
                columns=columns,
                filter=options.get("condition"),
                fragments=chosen,
                with_row_address=options.get("addresses", False),
                limit=options.get("limit"),
                order_by=options.get("order_by"),
                batch_size=options.get("batch_rows"),
                blob_handling=options.get("blobs", "all_binary"),
                scan_in_order=True,
                **ahead,
            ).to_reader()
