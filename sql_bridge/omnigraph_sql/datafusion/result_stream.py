"""Results as they are made: batches pulled from the engine, which anybody may stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from queue import SimpleQueue
from typing import TypeAlias

import pyarrow as pa
from datafusion import DataFrame
from datafusion.record_batch import RecordBatchStream

from omnigraph.errors import Cancelled, InvalidInput, OmniGraphError
from omnigraph.tables import BATCH_ROWS
from omnigraph_sql.datafusion.error_translation import datafusion_errors, explained


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """Where streams are pulled: a pull that waits here can be cancelled, a blocking one cannot."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="omnigraph-sql", daemon=True).start()
    return loop


AHEAD = 4
"""How many batches are made before they are asked for."""

_Made: TypeAlias = "SimpleQueue[pa.RecordBatch | BaseException | None]"
"""Batches on their way; the last thing is none, or what went wrong."""


class QueryExecution:
    """One running query. `cancel` may be called from any thread.

    The lock guards whether it is cancelled, and what there is to cancel.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pump: Future[None] | None = None
        self._scan: _Scan | None = None
        self._cancelled = False

    def batches(self, plan: DataFrame) -> Iterator[pa.RecordBatch]:
        """The batches of a plan, of at most 64K rows each."""
        with datafusion_errors():
            stream = plan.execute_stream()
        made: _Made = SimpleQueue()
        room, loop = asyncio.Semaphore(AHEAD), _loop()
        with self._lock:
            if self._cancelled:
                raise _cancelled()
            pump = asyncio.run_coroutine_threadsafe(_pumped(stream, made, room), loop)
            self._pump = pump
        del stream
        try:
            while (found := made.get()) is not None:
                if isinstance(found, BaseException):
                    raise found if isinstance(found, OmniGraphError) else explained(found)
                loop.call_soon_threadsafe(room.release)
                yield from _pieces(found)
        finally:
            pump.cancel()

    def scanned(
        self, rows: pa.RecordBatchReader, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a scan by the store, with the columns in that order.

        They are read by a thread of their own: a read that waits for the store cannot be stopped,
        but whoever waits for it can.
        """
        scan = _Scan(rows)
        with self._lock:
            if self._cancelled:
                raise _cancelled()
            self._scan = scan
        scan.start()
        try:
            while (found := scan.made.get()) is not None and not self._cancelled:
                if isinstance(found, BaseException):
                    raise found if isinstance(found, OmniGraphError) else explained(found)
                scan.room.release()
                yield from _pieces(found.select(list(columns)))
            if self._cancelled:
                raise _cancelled()
        finally:
            scan.stop(None)
            with self._lock:
                self._scan = None

    def cancel(self) -> None:
        """Stop; whoever waits for a batch gets `Cancelled`."""
        with self._lock:
            self._cancelled = True
            if self._pump is not None:
                self._pump.cancel()
            if self._scan is not None:
                self._scan.stop(_cancelled())


class _Scan(threading.Thread):
    """Reads ahead; the last thing it makes says how it ended."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        super().__init__(name="omnigraph-scan", daemon=True)
        self._rows = rows
        self._stopped = False
        self.made: _Made = SimpleQueue()
        self.room = threading.Semaphore(AHEAD)

    def run(self) -> None:
        end: BaseException | None = None
        try:
            for batch in self._rows:
                self.room.acquire()
                if self._stopped:
                    return
                self.made.put(batch)
        except Exception as error:  # noqa: BLE001 - told to whoever reads
            end = error
        finally:
            self.made.put(end)

    def stop(self, end: BaseException | None) -> None:
        """Make nothing more; whoever waits gets this at once."""
        self._stopped = True
        self.made.put(end)
        self.room.release()


async def _pumped(
    stream: RecordBatchStream,
    made: _Made,
    room: asyncio.Semaphore,
) -> None:
    """Move batches from the engine to their reader; the last thing put says how it ended."""
    end: BaseException | None = None
    try:
        async for batch in stream:
            await room.acquire()
            made.put(batch.to_pyarrow())
    except asyncio.CancelledError:
        end = _cancelled()
        raise
    except Exception as error:  # noqa: BLE001 - the engine raises plain Exceptions
        end = error
    finally:
        made.put(end)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= BATCH_ROWS:
        yield batch
        return
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)


def _cancelled() -> Cancelled:
    return Cancelled("the statement was cancelled", hint="Run it again if it is still wanted.")


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type in which a column leaves: no views, and text where the engine knows nothing."""
    if type_ == pa.string_view() or type_ == pa.null():
        return pa.string()
    if type_ == pa.binary_view():
        return pa.binary()
    if pa.types.is_dictionary(type_):
        return plain_type(type_.value_type)
    if pa.types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    if pa.types.is_large_list(type_):
        return pa.large_list(_plain_field(type_.value_field))
    if pa.types.is_struct(type_):
        return pa.struct([_plain_field(type_.field(i)) for i in range(type_.num_fields)])
    return type_


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(plain_type(field.type))


def plain_schema(schema: pa.Schema, names: tuple[str, ...] | None) -> pa.Schema:
    """The schema in which a result leaves: plain types, and the names the statement gives."""
    shown = names if names is not None and len(names) == len(schema) else schema.names
    return pa.schema(
        pa.field(name, plain_type(field.type), field.nullable)
        for name, field in zip(shown, schema, strict=True)
    )


def reader(
    schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]
) -> pa.RecordBatchReader:
    """Batches under exactly that schema."""
    return pa.RecordBatchReader.from_batches(schema, _typed(schema, batches()))


def typed(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """The same rows under exactly that schema."""
    return pa.Table.from_batches(_typed(schema, iter(table.to_batches())), schema)


def _typed(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = [
            array if array.type == field.type else _fitted(array, field)
            for array, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fitted(array: pa.Array, field: pa.Field) -> pa.Array:
    """Values in the type of their column, which may have been told before parameters were given."""
    try:
        return array.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"{field.name} is {field.type}, which a value does not fit: {error}",
            hint="CAST the parameter or the column to the type you mean.",
        ) from error
