"""Rows on their way into a table: in memory while they are few, in data files once they are many.

Spilled rows are written once, as the data files of the version to come; no version refers to them
until the transaction builds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.common.arrow_arrays import chunks
from omnigraph.common.spilled_rows import SpillingRows
from omnigraph.errors import InvalidInput
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.data_files import NO_FILES, DataFiles
from omnigraph.storage.tables.tables import TableStore

SPILL_BYTES = 64 << 20
"""Rows of one table that stay in memory; while they are written, as many may gather again."""

BatchCheck = Callable[[pa.Table], None]


@dataclass
class DataFileSink:
    """Writes checked rows as data files, in the background: reading the input goes on meanwhile."""

    tables: TableStore
    base: TableVersion
    schema: pa.Schema
    check: BatchCheck
    """Sees every row before it is written."""
    on_spill: Callable[[], None]
    """Called before each write; to register the transaction, once."""
    writer: Executor
    files: DataFiles = NO_FILES
    _writing: Future[DataFiles] | None = None
    _refused: InvalidInput | None = None
    _version: TableVersion | None = None

    def write(self, rows: pa.Table) -> None:
        self.on_spill()
        self._settle()
        if self._refused is None:
            self._writing = self.writer.submit(self._write, rows)

    def _write(self, rows: pa.Table) -> DataFiles:
        self.check(rows)
        return self.tables.write(self.base, rows)

    def _settle(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            try:
                self.files += writing.result()
            except InvalidInput as refused:
                self._refused = refused

    def finish(self) -> None:
        """Raise what a check had against rows that were written meanwhile.

        Not earlier, because an input that cannot be read to its end is refused for that.
        """
        self._settle()
        if self._refused is not None:
            raise self._refused

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        return chunks(self.tables.scan(self.version(), columns=columns))

    def version(self) -> TableVersion:
        """All rows, as a version of the table that has no others."""
        if self._version is None:
            self._version = self.tables.replace(self.base, self.schema, self.files)
        return self._version


class RowBuffer(SpillingRows):
    """Rows of one table, in the order they came."""

    def __init__(self, sink: DataFileSink) -> None:
        super().__init__(sink.schema, sink, SPILL_BYTES)
        self._files = sink
        self._checked = 0

    @property
    def files(self) -> DataFiles:
        """What was written, once all rows are there."""
        return self._files.files

    def version(self) -> TableVersion:
        """All rows of a buffer that spilled, as a version of the table that has no others."""
        return self._files.version()

    def adopt(self, files: DataFiles, rows: int) -> None:
        """Add data files that were written elsewhere, with rows that were checked there."""
        self.spilled = True
        self._files.files += files
        self.rows += rows

    def check_again(self, check: BatchCheck) -> None:
        """Check all rows, also those that were written already, by other rules from now on."""
        self._files.check = check
        for rows in self.scan(self._files.schema.names):
            check(rows)
        self._checked = self.rows

    def check_rest(self) -> None:
        """Check rows that stayed in memory, once; others were checked when they were written."""
        if not self.spilled and self._checked != self.rows:
            self._files.check(self.table())
            self._checked = self.rows
