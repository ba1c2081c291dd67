"""Rows in the order they came: in memory while they are few, in a sink once they are many."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkstemp
from typing import Protocol

import pyarrow as pa

MEMORY_BYTES = 64 << 20
"""Rows that stay in memory where a caller gives no bound of its own."""


class RowSink(Protocol):
    """Where rows go that are too many for memory."""

    def write(self, rows: pa.Table, /) -> None: ...

    def finish(self) -> None:
        """No more rows will come."""

    def scan(self, columns: Sequence[str], /) -> Iterator[pa.Table]:
        """Some columns of all rows, in chunks of bounded size."""


class SpillingRows:
    """Rows of one schema. They can be read, by several threads, once all are there."""

    def __init__(self, schema: pa.Schema, sink: RowSink, memory_bytes: int) -> None:
        self.schema = schema
        self.rows = 0
        self.spilled = False
        """Whether rows were too many to stay in memory."""
        self._sink = sink
        self._memory_bytes = memory_bytes
        self._buffered: list[pa.Table] = []
        self._bytes = 0

    def append(self, rows: pa.Table) -> None:
        """Add rows, which have exactly the schema."""
        if not rows.num_rows:
            return
        self.rows += rows.num_rows
        self._bytes += rows.nbytes
        self._buffered.append(rows)
        if self._bytes >= self._memory_bytes:
            self._spill()

    def finish(self) -> None:
        """No more rows will come: write the rest if the others were written."""
        if self.spilled:
            if self._buffered:
                self._spill()
            self._sink.finish()

    def _spill(self) -> None:
        self.spilled = True
        rows = pa.concat_tables(self._buffered)
        self._buffered, self._bytes = [], 0
        self._sink.write(rows)

    def table(self) -> pa.Table:
        """All rows at once."""
        if self.spilled:
            chunks = self._sink.scan(self.schema.names)
            return pa.concat_tables([self.schema.empty_table(), *chunks])
        if len(self._buffered) != 1:
            self._buffered = [pa.concat_tables([self.schema.empty_table(), *self._buffered])]
        return self._buffered[0]

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of all rows, in order, in chunks of bounded size."""
        if self.spilled:
            yield from self._sink.scan(columns)
        else:
            yield self.table().select(list(columns))


class TempFile:
    """A sink on the disk of this machine, which is deleted with it."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._path: Path | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            handle, name = mkstemp(prefix="omnigraph-")
            os.close(handle)
            self._path = Path(name)
            weakref.finalize(self, self._path.unlink)
            self._writer = pa.ipc.new_stream(name, self._schema)
        self._writer.write_table(rows)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        assert self._path is not None, "only what was written is read"
        with self._path.open("rb") as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch]).select(list(columns))


def spilled_to_disk(schema: pa.Schema) -> SpillingRows:
    """Rows that do not go to the store: a few in memory, many on the disk of this machine."""
    return SpillingRows(schema, TempFile(schema), MEMORY_BYTES)
