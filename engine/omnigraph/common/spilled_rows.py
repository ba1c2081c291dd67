"""Rows on their way from one branch to another: in memory while they are few, else on this disk.

The store is not written to before a merge is known to hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

import pyarrow as pa

HELD_BYTES = 64 << 20


class SpilledRows:
    """Rows in the order they came. They can be read, by several threads, once all are there."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = 0
        self._waiting: list[pa.Table] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def append(self, rows: pa.Table) -> None:
        """Add rows, which have the columns of the schema."""
        if not rows.num_rows:
            return
        rows = rows.select(self.schema.names).cast(self.schema)
        self.rows += rows.num_rows
        self._bytes += rows.nbytes
        self._waiting.append(rows)
        if self._bytes >= HELD_BYTES:
            self._spill()

    def finish(self) -> None:
        """No more rows will come."""
        if self._writer is not None:
            self._spill()
            self._writer.close()
        elif self._waiting:
            self._waiting = [pa.concat_tables(self._waiting).combine_chunks()]

    def _spill(self) -> None:
        if self._writer is None:
            self._file = NamedTemporaryFile(prefix="omnigraph-")  # noqa: SIM115  goes with the rows
            self._writer = pa.ipc.new_stream(self._file.name, self.schema)
        for rows in self._waiting:
            self._writer.write_table(rows)
        self._waiting, self._bytes = [], 0

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of all rows, in chunks of bounded size."""
        yield from (rows.select(list(columns)) for rows in self._waiting)
        if self._file is not None:
            with Path(self._file.name).open("rb") as file, pa.ipc.open_stream(file) as reader:
                for batch in reader:
                    yield pa.Table.from_batches([batch]).select(list(columns))
