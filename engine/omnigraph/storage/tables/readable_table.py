"""Tables of a snapshot as other query engines read them: with their own filters and projections."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from lance import LanceDataset, LanceFragment

from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore

BATCH_ROWS = 1 << 16
ADDRESS = "_rowaddr"

# The provider takes no batch size; small batches halve the speed of a scan.
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", str(BATCH_ROWS))


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

    def provider(self, *, addresses: bool = False, part: slice | None = None) -> Any:  # noqa: ANN401
        """What DataFusion registers as a table: filters, projections and limits go into Lance.

        `addresses` adds the column `_rowaddr`; `part` chooses some of the fragments. The columns
        have their stored names.
        """
        dataset = self.tables.handle(self.version).dataset
        if part is None and not _has_blobs(dataset.schema):
            return lance.FFILanceTableProvider(dataset, with_row_addr=addresses)
        return _PartialDataset(dataset, part or slice(None), addresses)

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
        dataset = self.tables.handle(self.version).dataset
        reader: pa.RecordBatchReader = dataset.scanner(
            columns=[name for name in columns if name != ADDRESS],
            with_row_address=ADDRESS in columns,
            filter=filter,
            limit=limit,
            offset=offset,
            fragments=None if part is None else dataset.get_fragments()[part],
            batch_size=BATCH_ROWS,
        ).to_reader()
        return reader

    def find(self, columns: Sequence[str], filter: str) -> pa.Table:  # noqa: A002
        """The few rows that pass a filter; a quarter cheaper than `scan`."""
        dataset = self.tables.handle(self.version).dataset
        return dataset.scanner(
            columns=[name for name in columns if name != ADDRESS],
            with_row_address=ADDRESS in columns,
            filter=filter,
        ).to_table()

    def stored_type(self, name: str) -> pa.DataType:
        """The type in which the version holds one of today's columns."""
        return self._stored_schema().field(self.stored[name]).type

    def _stored_schema(self) -> pa.Schema:
        return _plain_schema(self.tables.schema(self.version))


def _has_blobs(schema: pa.Schema) -> bool:
    return any(isinstance(f.type, pa.BaseExtensionType) for f in schema)


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_large_binary(type_))


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Blobs as the bytes that scans give."""
    return pa.schema(
        pa.field(f.name, pa.large_binary(), f.nullable)
        if isinstance(f.type, pa.BaseExtensionType)
        else f
        for f in schema
    )


class _PartialDataset(pads.Dataset):  # type: ignore[misc]
    """Some fragments of a table, with Blobs as bytes; neither of which the provider can do."""

    def __init__(self, dataset: LanceDataset, part: slice, addresses: bool) -> None:
        self._dataset = dataset
        self._part = part
        self._addresses = addresses
        shown = _plain_schema(dataset.schema)
        self._shown = shown.append(pa.field(ADDRESS, pa.uint64())) if addresses else shown

    @property
    def schema(self) -> pa.Schema:
        return self._shown

    def get_fragments(self, filter: Any = None) -> Iterator[_Part]:  # noqa: ANN401, A002
        for fragment in self._dataset.get_fragments()[self._part]:
            yield _Part(self, fragment)

    def scanner(self, **options: Any) -> Any:  # noqa: ANN401
        return self.scan(self._dataset.get_fragments()[self._part], **options)

    def scan(
        self,
        fragments: list[LanceFragment],
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: ANN401, A002
        batch_size: int | None = None,
    ) -> Any:  # noqa: ANN401
        wanted = list(self._shown.names if columns is None else columns)
        if isinstance(filter, pa.Scalar):  # DataFusion gives a constant as a plain value
            filter = pc.scalar(filter)  # noqa: A001
        if filter is not None and _has_blobs(self._dataset.schema):
            return self._filtered(fragments, wanted, filter)
        return self._dataset.scanner(
            columns=[name for name in wanted if name != ADDRESS],
            with_row_address=ADDRESS in wanted,
            filter=filter,
            fragments=fragments,
            batch_size=BATCH_ROWS,
            blob_handling="all_binary",
        )

    def _filtered(self, fragments: list[LanceFragment], wanted: list[str], filter: Any) -> Any:  # noqa: ANN401, A002
        """Rows that pass a filter, which Lance cannot take over where a table has Blobs."""
        plain = [f.name for f in self._shown if f.name in wanted or not _is_bytes(f.type)]
        reader = self.scan(fragments, plain).to_reader()
        return pads.Scanner.from_batches(reader, columns=wanted, filter=filter)


@dataclass(frozen=True)
class _Part:
    owner: _PartialDataset
    fragment: LanceFragment

    def scanner(self, schema: pa.Schema, **options: Any) -> Any:  # noqa: ANN401
        return self.owner.scan([self.fragment], **options)
