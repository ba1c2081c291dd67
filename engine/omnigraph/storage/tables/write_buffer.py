"""Rows on their way into a table: in memory while they are few, in data files once they are many.

Spilled rows are written once, as the data files of the version to come; no version refers to them
until the transaction builds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future

import pyarrow as pa

from omnigraph.common.arrow_arrays import chunks
from omnigraph.errors import InvalidInput
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.data_files import NO_FILES, DataFiles
from omnigraph.storage.tables.tables import TableStore

SPILL_BYTES = 64 << 20
"""Rows of one table that stay in memory; while they are written, as many may gather again."""

BatchCheck = Callable[[pa.Table], None]


class RowBuffer:
    """Rows of one type, in the order they came.

    `check` sees every row before it is written; `on_spill` is called once, before the first file.
    """

    def __init__(
        self,
        tables: TableStore,
        base: TableVersion,
        schema: pa.Schema,
        check: BatchCheck,
        on_spill: Callable[[], None],
        writer: Executor,
    ) -> None:
        self._tables = tables
        self._base = base
        self._schema = schema
        self._check = check
        self._on_spill = on_spill
        self._writer = writer
        self._writing: Future[DataFiles] | None = None
        self._spilled = False
        self._refused: InvalidInput | None = None
        self._checked = 0
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._delta: TableVersion | None = None
        self.files = NO_FILES
        self.rows = 0

    def append(self, rows: pa.Table) -> None:
        """Add rows; they have exactly the schema of the table."""
        if not rows.num_rows or self._refused is not None:
            return
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        self.rows += rows.num_rows
        if self._waiting_bytes >= SPILL_BYTES:
            self._spill()

    def adopt(self, files: DataFiles, rows: int) -> None:
        """Take over data files that were written elsewhere, with rows that were checked there."""
        self._spilled = True
        self.files += files
        self.rows += rows

    @property
    def spilled(self) -> bool:
        """Whether rows were too many to stay in memory."""
        return self._spilled

    def finish(self) -> None:
        """No more rows will come: write the rest if the others were written.

        Raises what a check had against rows that were written meanwhile: not earlier, because an
        input that cannot be read to its end is refused for that.
        """
        if self.spilled and self._waiting:
            self._spill()
        self._settle()
        if self._refused is not None:
            raise self._refused

    def check_rest(self) -> None:
        """Check rows that stayed in memory, once; others were checked when they were written."""
        if not self.spilled and self._checked != self.rows:
            self._check(self.table())
            self._checked = self.rows

    def table(self) -> pa.Table:
        """All rows of a buffer that did not spill."""
        if len(self._waiting) != 1:
            self._waiting = [pa.concat_tables([self._schema.empty_table(), *self._waiting])]
        return self._waiting[0]

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of all rows, in order, in chunks of bounded size."""
        if not self.spilled:
            yield self.table().select(columns)
            return
        yield from chunks(self._tables.scan(self.version(), columns=list(columns)))

    def version(self) -> TableVersion:
        """All rows of a buffer that spilled, as a version of the table that has no others."""
        if self._delta is None:
            self._delta = self._tables.replace(self._base, self._schema, self.files)
        return self._delta

    def _spill(self) -> None:
        """Write what has gathered, in the background: reading the input goes on meanwhile."""
        if not self._spilled:
            self._on_spill()
            self._spilled = True
        self._settle()
        rows = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        self._writing = self._writer.submit(self._write, rows)

    def _write(self, rows: pa.Table) -> DataFiles:
        self._check(rows)
        return self._tables.write(self._base, rows)

    def _settle(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            try:
                self.files += writing.result()
            except InvalidInput as refused:
                self._refused = refused
