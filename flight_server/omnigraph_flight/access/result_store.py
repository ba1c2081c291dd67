"""Stored results: run once and read in slices, by any replica.

A query that is no scan cannot be run in parts: its rows go once, as they are made, into files below
the graph's own root, where every replica finds them; tickets name the files of their slice. The
name of a file begins with the second at which it expires, so that any server may delete expired
files, whether or not the one that wrote them still runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

import pyarrow as pa

from omnigraph import StoredFolder
from omnigraph.errors import NotFound, ResourceLimit
from omnigraph_flight.protocol.batch_stream import ipc_bytes, require_size

FOLDER = "__results"
FILE_BYTES = 4 * 1024 * 1024
"""About how much goes into one file: what a server holds in memory of a result."""
LOOK_FILES = 16
"""After so many files of a result, list again how much others have stored in the meantime."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The rows of one statement, in so many files."""

    name: str
    files: int
    rows: int
    bytes: int
    until: float
    """Seconds since the epoch; afterwards it may be deleted."""

    def slices(self, at_most: int) -> list[tuple[int, int]]:
        """The files of each slice as half-open ranges; every file is in exactly one."""
        return _even_ranges(self.files, min(at_most, self.files))


class ResultStore:
    """The stored results of one graph."""

    def __init__(self, folder: StoredFolder) -> None:
        self._folder = folder

    def store(
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
        """Write all rows into files, for so many seconds; nothing is left behind if that fails.

        Its own bytes and those of all stored results have limits, 0 for none. What other servers
        store at the same time is counted between files. No file may expire while others are
        written, which takes `longest` seconds at most.
        """
        written = time.time() + longest
        name = f"{int(written + seconds) + 1}-{call}"
        files = count = size = others = 0
        try:
            for part in _parts(rows, slices):
                if most_in_all and files % LOOK_FILES == 0:
                    others = self._bytes_of_others(name)
                count += sum(batch.num_rows for batch in part)
                size += sum(batch.nbytes for batch in part)
                require_size(size, most_bytes)
                if most_in_all and others + size > most_in_all:
                    raise ResourceLimit(
                        "the size of all stored results in bytes (limits.kept_bytes_per_graph)",
                        most_in_all,
                        others + size,
                    )
                self._folder.write(_file(name, files), ipc_bytes(rows.schema, part))
                files += 1
        except BaseException:
            self.delete(name)
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

    def delete(self, *names: str) -> None:
        """Delete results by name."""
        ours = tuple(f"{name}-" for name in names)
        files = self._folder.list()
        self._folder.delete([file.path for file in files if file.path.startswith(ours)])

    def delete_expired(self, now: float | None = None) -> int:
        """Delete what has expired; how many files that were."""
        at = time.time() if now is None else now
        expired = [file.path for file in self._folder.list() if _expires(file.path) < at]
        self._folder.delete(expired)
        return len(expired)

    def _bytes_of_others(self, name: str) -> int:
        """The bytes of all other results that are stored, or being stored, and not expired."""
        now, ours = time.time(), f"{name}-"
        return sum(
            file.size
            for file in self._folder.list()
            if _expires(file.path) >= now and not file.path.startswith(ours)
        )

    def _contents(self, name: str, number: int) -> bytes:
        contents = self._folder.read(_file(name, number))
        if contents is None:
            raise NotFound("this result has expired", hint="Run the statement again.")
        return contents


def buffer_small_result(
    rows: pa.RecordBatchReader, most_bytes: int
) -> tuple[pa.RecordBatch | None, pa.RecordBatchReader]:
    """All rows as one batch, if they are so few; and all of them to be read."""
    buffered: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        buffered.append(batch)
        size += batch.nbytes
        if size > most_bytes:
            return None, pa.RecordBatchReader.from_batches(rows.schema, chain(buffered, rows))
    one = pa.concat_batches(buffered) if buffered else pa.RecordBatch.from_pylist([], rows.schema)
    return one, pa.RecordBatchReader.from_batches(rows.schema, buffered)


def _file(name: str, number: int) -> str:
    # No folder of its own: on a disk it would be left behind, empty.
    return f"{name}-{number:06d}.arrow"


def _expires(path: str) -> float:
    """The second in the name of a file; files with other names are not ours."""
    second = path.partition("-")[0]
    return float(second) if second.isdecimal() else float("inf")


def _parts(rows: pa.RecordBatchReader, slices: int) -> Iterator[list[pa.RecordBatch]]:
    """The rows file by file; a small result in as many files as slices, at least one."""
    buffered: list[pa.RecordBatch] = []
    size, small = 0, True
    for batch in rows:
        buffered.append(batch)
        size += batch.nbytes
        if size >= FILE_BYTES:
            yield buffered
            buffered, size, small = [], 0, False
    if small:
        table = pa.Table.from_batches(buffered, rows.schema)
        for start, end in _even_ranges(table.num_rows, max(1, min(slices, table.num_rows))):
            yield table.slice(start, end - start).to_batches()
    elif buffered:
        yield buffered


def _even_ranges(count: int, parts: int) -> list[tuple[int, int]]:
    """The numbers below `count` in half-open ranges of nearly equal length."""
    return list(pairwise(count * index // parts for index in range(parts + 1)))
