"""Streams of results: batches are pulled from DataFusion, and any thread may cancel that."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from queue import SimpleQueue
from typing import TypeAlias

import pyarrow as pa
from datafusion.record_batch import RecordBatchStream

from omnigraph.errors import Cancelled, InvalidInput, OmniGraphError
from omnigraph.tables import BATCH_ROWS
from omnigraph_sql.datafusion.error_translation import explained
from omnigraph_sql.datafusion.query_plan import QueryPlan


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """Where streams are pulled: a pull that waits here can be cancelled, a blocking one cannot."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="omnigraph-sql", daemon=True).start()
    return loop


AHEAD = 4
"""How many batches are read ahead."""

_BatchQueue: TypeAlias = "SimpleQueue[pa.RecordBatch | BaseException | None]"
"""Batches that were read ahead; the last item is none, or the exception."""


class QueryExecution:
    """One running query. `cancel` may be called from any thread.

    The lock guards whether it is cancelled, and what there is to cancel.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pump: Future[None] | None = None
        self._scan: _Scan | None = None
        self._cancelled = False

    def batches(self, plan: QueryPlan) -> Iterator[pa.RecordBatch]:
        """The batches of a plan, of at most 64K rows each."""
        stream = plan.stream()
        queue: _BatchQueue = SimpleQueue()
        room, loop = asyncio.Semaphore(AHEAD), _loop()
        with self._lock:
            if self._cancelled:
                raise _cancelled()
            pump = asyncio.run_coroutine_threadsafe(_pump(stream, queue, room), loop)
            self._pump = pump
        del stream
        try:
            while (batch := _next_batch(queue, plan.explained)) is not None:
                loop.call_soon_threadsafe(room.release)
                yield from _split(batch)
        finally:
            pump.cancel()

    def scanned(
        self, rows: pa.RecordBatchReader, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a scan by the store, with the columns in that order.

        A thread of their own reads them: a read that waits for the store cannot be stopped, but
        whoever waits for it can.
        """
        scan = _Scan(rows)
        with self._lock:
            if self._cancelled:
                raise _cancelled()
            self._scan = scan
        scan.start()
        try:
            while (batch := _next_batch(scan.queue)) is not None and not self._cancelled:
                scan.room.release()
                yield from _split(batch.select(list(columns)))
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
    """Reads ahead; the last item of its queue says how it ended."""

    def __init__(self, rows: pa.RecordBatchReader) -> None:
        super().__init__(name="omnigraph-scan", daemon=True)
        self._rows = rows
        self._stopped = False
        self.queue: _BatchQueue = SimpleQueue()
        self.room = threading.Semaphore(AHEAD)

    def run(self) -> None:
        end: BaseException | None = None
        try:
            for batch in self._rows:
                self.room.acquire()
                if self._stopped:
                    return
                self.queue.put(batch)
        except Exception as error:  # noqa: BLE001 - raised where the batches are read
            end = error
        finally:
            self.queue.put(end)

    def stop(self, end: BaseException | None) -> None:
        """Read no more; whoever waits for a batch gets this at once."""
        self._stopped = True
        self.queue.put(end)
        self.room.release()


async def _pump(stream: RecordBatchStream, queue: _BatchQueue, room: asyncio.Semaphore) -> None:
    """Move batches from DataFusion to their reader; the last item says how it ended."""
    end: BaseException | None = None
    try:
        async for batch in stream:
            await room.acquire()
            queue.put(batch.to_pyarrow())
    except asyncio.CancelledError:
        end = _cancelled()
        raise
    except Exception as error:  # noqa: BLE001 - DataFusion raises plain Exceptions
        end = error
    finally:
        queue.put(end)


def _next_batch(
    queue: _BatchQueue, explain: Callable[[BaseException], OmniGraphError] = explained
) -> pa.RecordBatch | None:
    """The next batch, none behind the last one; raises what ended the stream."""
    item = queue.get()
    if isinstance(item, BaseException):
        raise item if isinstance(item, OmniGraphError) else explain(item)
    return item


def _split(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, max(batch.num_rows, 1), BATCH_ROWS):
        yield batch if batch.num_rows <= BATCH_ROWS else batch.slice(start, BATCH_ROWS)


def _cancelled() -> Cancelled:
    return Cancelled("the statement was cancelled", hint="Run it again if it is still needed.")


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The type in which a column leaves: no views, and text where DataFusion knows no type."""
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
    result_names = names if names is not None and len(names) == len(schema) else schema.names
    return pa.schema(
        pa.field(name, plain_type(field.type), field.nullable)
        for name, field in zip(result_names, schema, strict=True)
    )


def reader(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Batches under exactly that schema."""
    return pa.RecordBatchReader.from_batches(schema, _typed(schema, batches))


def typed(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """The same rows under exactly that schema."""
    return pa.Table.from_batches(_typed(schema, table.to_batches()), schema)


def _typed(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        arrays = [
            array if array.type == field.type else _cast(array, field)
            for array, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    """Values in the type of their column, announced perhaps before parameters were given."""
    try:
        return array.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"a value does not fit the column {field.name} of type {field.type}: {error}",
            hint="CAST the parameter or the column to the type you mean.",
        ) from error
