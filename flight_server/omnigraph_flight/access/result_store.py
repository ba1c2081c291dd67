"""Results that are run once and read in slices, by any replica.

A query that is no scan cannot be run in parts: its rows go once, as they are made, into files below
the graph's own root, where every replica finds them; tickets name the files of their slice. Files
are called after the second in which they may go, so that whoever comes by may delete what is over,
whether or not the server that wrote it still lives.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from omnigraph import StoredFolder
from omnigraph.errors import NotFound, ResourceLimit
from omnigraph_flight.protocol.batch_stream import require_size

FOLDER = "__results"
FILE_BYTES = 4 * 1024 * 1024
"""About how much goes into one file: what a server holds in memory of a result."""
LOOK_FILES = 16
"""After so many files of a result, look again how much others have kept in the meantime."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The rows of one statement, in so many files."""

    name: str
    files: int
    rows: int
    bytes: int
    until: float
    """Seconds since the epoch; afterwards it may be gone."""

    def slices(self, at_most: int) -> list[tuple[int, int]]:
        """The files of each slice, first and behind the last; every file is in exactly one."""
        count = min(at_most, self.files)
        edges = [self.files * index // count for index in range(count + 1)]
        return list(zip(edges, edges[1:], strict=False))


class ResultStore:
    """The kept results of one graph."""

    def __init__(self, folder: StoredFolder) -> None:
        self._folder = folder

    def keep(
        self,
        call: str,
        rows: pa.RecordBatchReader,
        *,
        slices: int,
        seconds: float,
        longest: float,
        most_bytes: int = 0,
        most_in_all: int = 0,
    ) -> StoredResult:
        """Read all rows into files, for so many seconds; nothing stays behind if that fails.

        Its own bytes and those of all that is kept have limits, 0 for none. What is kept at once,
        also by other servers, is looked at between files. Files may not go while others are
        written, which takes `longest` seconds at most.
        """
        written = time.time() + longest
        name = f"{int(written + seconds) + 1}-{call}"
        files = count = size = 0
        others = 0
        try:
            for part in _parts(rows, slices):
                if most_in_all and files % LOOK_FILES == 0:
                    others = self._live(besides=name)
                count += sum(batch.num_rows for batch in part)
                size += sum(batch.nbytes for batch in part)
                require_size(size, most_bytes)
                if most_in_all and others + size > most_in_all:
                    raise ResourceLimit(
                        "the size of all kept results in bytes (limits.kept_bytes_per_graph)",
                        most_in_all,
                        others + size,
                    )
                self._folder.write(_file(name, files), _ipc(rows.schema, part))
                files += 1
        except BaseException:
            self.drop(name)
            raise
        until = min(time.time(), written) + seconds
        return StoredResult(name, files, count, size, until)

    def read(self, name: str, first: int, end: int) -> pa.RecordBatchReader:
        """The rows of some files, one file in memory at a time."""
        opened = pa.ipc.open_stream(self._contents(name, first))

        def batches() -> Iterator[pa.RecordBatch]:
            yield from opened
            for number in range(first + 1, end):
                yield from pa.ipc.open_stream(self._contents(name, number))

        return pa.RecordBatchReader.from_batches(opened.schema, batches())

    def drop(self, *names: str) -> None:
        """Delete kept results."""
        ours = tuple(f"{name}-" for name in names)
        files = self._folder.list()
        self._folder.delete([file.path for file in files if file.path.startswith(ours)])

    def sweep(self, now: float | None = None) -> int:
        """Delete what is over; how many files that were."""
        at = time.time() if now is None else now
        over = [file.path for file in self._folder.list() if _until(file.path) < at]
        self._folder.delete(over)
        return len(over)

    def _live(self, besides: str) -> int:
        """The bytes of all others that are kept, or just being kept, and not over."""
        now, ours = time.time(), f"{besides}-"
        return sum(
            file.size
            for file in self._folder.list()
            if _until(file.path) >= now and not file.path.startswith(ours)
        )

    def _contents(self, name: str, number: int) -> bytes:
        found = self._folder.read(_file(name, number))
        if found is None:
            raise NotFound("this result is no longer kept", hint="Run the statement again.")
        return found


def buffer_small_result(
    rows: pa.RecordBatchReader, most_bytes: int
) -> tuple[pa.RecordBatch | None, pa.RecordBatchReader]:
    """All rows as one batch, if they are so few; and all of them to be read."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        held.append(batch)
        size += batch.nbytes
        if size > most_bytes:
            return None, pa.RecordBatchReader.from_batches(rows.schema, chain(held, rows))
    one = pa.concat_batches(held) if held else pa.RecordBatch.from_pylist([], rows.schema)
    return one, pa.RecordBatchReader.from_batches(rows.schema, held)


def _file(name: str, number: int) -> str:
    # No folder of its own: on a disk it would stay behind, empty.
    return f"{name}-{number:06d}.arrow"


def _until(path: str) -> float:
    """The second in the name of a file; what is called otherwise is not ours."""
    second = path.partition("-")[0]
    return float(second) if second.isdecimal() else float("inf")


def _parts(rows: pa.RecordBatchReader, slices: int) -> Iterator[list[pa.RecordBatch]]:
    """The rows file by file; a small result in as many files as slices are wanted, at least one."""
    held: list[pa.RecordBatch] = []
    size, small = 0, True
    for batch in rows:
        held.append(batch)
        size += batch.nbytes
        if size >= FILE_BYTES:
            yield held
            held, size, small = [], 0, False
    if small:
        yield from _evenly(pa.Table.from_batches(held, rows.schema), slices)
    elif held:
        yield held


def _evenly(table: pa.Table, slices: int) -> Iterator[list[pa.RecordBatch]]:
    count = max(1, min(slices, table.num_rows))
    edges = [table.num_rows * index // count for index in range(count + 1)]
    for start, end in zip(edges, edges[1:], strict=False):
        yield table.slice(start, end - start).to_batches()


def _ipc(schema: pa.Schema, batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())
