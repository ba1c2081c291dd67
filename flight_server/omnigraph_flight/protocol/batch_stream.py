"""Batches on their way out, split to what clients accept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from omnigraph.errors import ResourceLimit
from omnigraph_flight.protocol.flight_status import to_flight


def ipc_bytes(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Batches as an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def split_batch(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """The batch in parts of about that size; a single row is never split."""
    size = batch.nbytes
    if size <= most_bytes or batch.num_rows <= 1:
        yield batch
        return
    rows = max(1, batch.num_rows * most_bytes // size)
    for start in range(0, batch.num_rows, rows):
        part = batch.slice(start, rows)
        # Rows differ in size: what is still too large is split again.
        yield from split_batch(part, most_bytes)


def require_size(size: int, most: int) -> None:
    """Refuse a result of more bytes than results may have; 0 is no limit."""
    if most and size > most:
        raise ResourceLimit("the size of a result in bytes", most, size)


StreamEnded = Callable[[int, int, BaseException | None], Exception | None]
"""Gets how many rows and bytes were sent, and the error; returns why the stream was stopped."""


class BatchStream:
    """The batches of one answer.

    A class, not a generator: one that never began would never run its end, and a client may
    disconnect before its first batch.
    """

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch],
        *,
        stopped: Callable[[], Exception | None],
        most_bytes: int,
        most_in_all: int,
        ended: StreamEnded,
    ) -> None:
        self._stopped = stopped
        self._batches = (part for batch in batches for part in split_batch(batch, most_bytes))
        self._most_in_all = most_in_all
        self._ended: StreamEnded | None = ended
        self._rows = self._bytes = 0

    def __iter__(self) -> BatchStream:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            batch = next(self._batches)
            if (problem := self._stopped()) is not None:
                raise problem
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            require_size(self._bytes, self._most_in_all)
            return batch
        except StopIteration:
            self._end()
            raise
        except BaseException as error:  # noqa: BLE001 - the edge: everything is mapped here
            raise to_flight(self._end(error) or error) from None

    def _end(self, error: BaseException | None = None) -> Exception | None:
        ended, self._ended = self._ended, None
        return ended(self._rows, self._bytes, error) if ended else None

    def __del__(self) -> None:
        self._end()
