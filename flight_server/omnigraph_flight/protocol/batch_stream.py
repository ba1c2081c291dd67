"""Batches on their way out, cut to what clients accept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from omnigraph.errors import ResourceLimit
from omnigraph_flight.protocol.flight_status import to_flight


def split_batch(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of about that size; a single row is never cut."""
    size = batch.nbytes
    if size <= most_bytes or batch.num_rows <= 1:
        yield batch
        return
    rows = max(1, batch.num_rows * most_bytes // size)
    for start in range(0, batch.num_rows, rows):
        part = batch.slice(start, rows)
        # Rows differ in size: what is still too large is cut again.
        yield from split_batch(part, most_bytes)


def require_size(size: int, most: int) -> None:
    """Refuse a result of more bytes than results may have; 0 is no limit."""
    if most and size > most:
        raise ResourceLimit("the size of a result in bytes", most, size)


StreamEnded = Callable[[int, int, BaseException | None], Exception | None]
"""Told how many rows and bytes went out, and what went wrong; says why the stream was stopped."""


class BatchStream:
    """The batches of one answer.

    A class, not a generator: one that never began would never run its end, and a client may be
    gone before its first batch.
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
        self._pieces = (piece for batch in batches for piece in split_batch(batch, most_bytes))
        self._most_in_all = most_in_all
        self._ended: StreamEnded | None = ended
        self._rows = self._bytes = 0

    def __iter__(self) -> BatchStream:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            piece = next(self._pieces)
            if (problem := self._stopped()) is not None:
                raise problem
            self._rows += piece.num_rows
            self._bytes += piece.nbytes
            require_size(self._bytes, self._most_in_all)
            return piece
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
