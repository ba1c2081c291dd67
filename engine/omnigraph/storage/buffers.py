"""Rows on their way into a table: in memory while they are few, in data files once they are many.

Spilled rows are written once, as the data files of the version to come; no version refers to them
until the transaction builds one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from lance.fragment import FragmentMetadata

from omnigraph.storage.tables import Tables, TableVersion, chunks, guarded

SPILL_BYTES = 64 << 20

Check = Callable[[pa.Table], None]


class RowBuffer:
    """Rows of one type, in the order they came.

    `check` sees every row before it is written; `on_spill` is called once, before the first file.
    """

    def __init__(
        self,
        tables: Tables,
        base: TableVersion,
        schema: pa.Schema,
        check: Check,
        on_spill: Callable[[], None],
        spill_bytes: int = SPILL_BYTES,
    ) -> None:
        self._tables = tables
        self._base = base
        self._schema = schema
        self._check = check
        self._on_spill = on_spill
        self._spill_bytes = spill_bytes
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._delta: TableVersion | None = None
        self.fragments: list[FragmentMetadata] = []
        self.rows = 0

    def append(self, rows: pa.Table) -> None:
        """Add rows; they have exactly the schema of the table."""
        if not rows.num_rows:
            return
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        self.rows += rows.num_rows
        if self._waiting_bytes >= self._spill_bytes:
            self._spill()

    @property
    def spilled(self) -> bool:
        """Whether rows were too many to stay in memory."""
        return bool(self.fragments)

    def finish(self) -> None:
        """No more rows will come: write the rest if the others were written."""
        if self.spilled and self._waiting:
            self._spill()

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
        if self._delta is None:
            self._delta = self._tables.replace(self._base, self._schema, self.fragments)
        reader = self._tables.scan(self._delta, columns=list(columns))
        yield from chunks(guarded(reader, self._delta))

    def _spill(self) -> None:
        if not self.fragments:
            self._on_spill()
        rows = pa.concat_tables(self._waiting)
        self._check(rows)
        self._waiting, self._waiting_bytes = [], 0
        self.fragments += self._tables.write(self._base, rows)
