"""Tables of a snapshot as other query engines read them: with their own filters and projections."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import lance
import pyarrow as pa
import pyarrow.dataset as pads
from lance import LanceDataset, LanceFragment

from omnigraph.common.stream_dataset import StreamDataset
from omnigraph.errors import Corruption
from omnigraph.storage.core.read_errors import damaged, guarded, reading
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore

BATCH_ROWS = 1 << 16
ADDRESS = "_rowaddr"

# The provider takes no batch size; small batches halve the speed of a scan.
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", str(BATCH_ROWS))


class RegistrableTable(Protocol):
    """What DataFusion registers as a table, as a PyCapsule that it asks for."""

    def __datafusion_table_provider__(self, session: Any) -> object: ...  # noqa: ANN401


@dataclass(frozen=True)
class ReadableTable:
    """One table at one moment: its rows, and what today's columns were called then."""

    tables: TableStore = field(compare=False, repr=False)
    version: TableVersion
    schema: pa.Schema
    """The columns as they are called and typed today."""
    stored: Mapping[str, str] = field(compare=False)
    """Under which name the version holds each column."""
    rows: int
    identified: bool = False
    """Whether the column `id` tells its rows apart, which is so for nodes and edges."""
    key: str | None = None
    """The column whose text is also the id."""

    @property
    def address(self) -> str:
        """What tells this immutable table from every other one of the graph."""
        return f"{self.version.location}@{self.version.lance}"

    @property
    def renamed(self) -> bool:
        """Whether some column is called or typed otherwise in the stored version."""
        stored = self._stored_schema()
        return [(f.name, f.type) for f in self.schema] != [(f.name, f.type) for f in stored]

    def fragments(self) -> int:
        """How many parts the table has, which can be read independently of each other."""
        return len(self.tables.handle(self.version).dataset.get_fragments())

    def provider(
        self, *, addresses: bool = False, part: slice | None = None
    ) -> RegistrableTable | StreamDataset:
        """What DataFusion registers as a table: filters, projections and limits go into Lance.

        `addresses` adds the column `_rowaddr`; `part` chooses some of the fragments. The columns
        have their stored names.
        """
        dataset = self.tables.handle(self.version).dataset
        if part is None and not _has_blobs(dataset.schema):
            provider: RegistrableTable = lance.FFILanceTableProvider(
                dataset, with_row_addr=addresses
            )
            return provider
        return _parts_of(dataset, part or slice(None), addresses)

    @property
    def scannable(self) -> bool:
        """Whether `scan` gives today's columns: none was renamed, and none holds Blobs."""
        return not self.renamed and not _has_blobs(self.tables.schema(self.version))

    def scan(
        self,
        columns: Sequence[str],
        *,
        filter: str | None = None,  # noqa: A002
        limit: int | None = None,
        offset: int | None = None,
        part: slice | None = None,
    ) -> pa.RecordBatchReader:
        """Some columns of the rows that pass a filter in Lance's SQL; `_rowaddr` is one of them."""
        handle = self.tables.handle(self.version)
        dataset = handle.dataset
        with reading(self.version, handle.find_damage):
            reader: pa.RecordBatchReader = _scanner(
                dataset,
                columns,
                filter=filter,
                limit=limit,
                offset=offset,
                fragments=None if part is None else dataset.get_fragments()[part],
                batch_size=BATCH_ROWS,
            ).to_reader()
        batches = guarded(reader, self.version, handle.find_damage)
        return pa.RecordBatchReader.from_batches(reader.schema, batches)

    def find(self, columns: Sequence[str], filter: str) -> pa.Table:  # noqa: A002
        """The few rows that pass a filter; a quarter cheaper than `scan`."""
        handle = self.tables.handle(self.version)
        with reading(self.version, handle.find_damage):
            return _scanner(handle.dataset, columns, filter=filter).to_table()

    def damage(self) -> Corruption | None:
        """The error of a file that is not what was written, if there is one; reads every byte."""
        path = self.tables.handle(self.version).find_damage()
        return damaged(self.version, path) if path else None

    def stored_type(self, name: str) -> pa.DataType:
        """The type in which the version holds one of today's columns."""
        return self._stored_schema().field(self.stored[name]).type

    def _stored_schema(self) -> pa.Schema:
        return _plain_schema(self.tables.schema(self.version))


def _scanner(dataset: LanceDataset, columns: Sequence[str], **options: Any) -> Any:  # noqa: ANN401
    """A scanner of some columns, of which `_rowaddr` may be one."""
    stored = [name for name in columns if name != ADDRESS]
    return dataset.scanner(columns=stored, with_row_address=ADDRESS in columns, **options)


def _has_blobs(schema: pa.Schema) -> bool:
    return any(isinstance(f.type, pa.BaseExtensionType) for f in schema)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Blobs as the bytes that scans give."""
    return pa.schema(
        pa.field(f.name, pa.large_binary(), f.nullable)
        if isinstance(f.type, pa.BaseExtensionType)
        else f
        for f in schema
    )


def _parts_of(dataset: LanceDataset, part: slice, addresses: bool) -> StreamDataset:
    """Some fragments of a table, with Blobs as bytes; neither of which the provider can do."""
    shown = _plain_schema(dataset.schema)
    if addresses:
        shown = shown.append(pa.field(ADDRESS, pa.uint64()))

    def scan(fragments: Sequence[LanceFragment], columns: list[str], filter: Any) -> Any:  # noqa: ANN401, A002
        if filter is not None and _has_blobs(dataset.schema):
            # Lance cannot take a filter over where a table has Blobs.
            is_bytes = pa.types.is_large_binary
            plain = [f.name for f in shown if f.name in columns or not is_bytes(f.type)]
            reader = scan(fragments, plain, None).to_reader()
            return pads.Scanner.from_batches(reader, columns=columns, filter=filter)
        return _scanner(
            dataset,
            columns,
            filter=filter,
            fragments=fragments,
            batch_size=BATCH_ROWS,
            blob_handling="all_binary",
        )

    return StreamDataset(shown, scan, dataset.get_fragments()[part])
