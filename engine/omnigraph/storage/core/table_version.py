"""Reading a table version: its address, its rows as a stream, failures as typed errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.errors import Corruption, StorageError

PROBE_LIMIT = 2000
"""Up to this many ids are looked up one by one through the index; more are joined with a scan."""
SCAN_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class TableVersion:
    """An address of a table version: where, and which Lance version."""

    location: str
    lance: int


def in_condition(column: str, values: pa.Array) -> str:
    """A filter for rows whose text column has one of the values."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values.to_pylist())
    return f"{column} IN ({quoted})"


def chunks(batches: Iterable[pa.RecordBatch], rows: int = SCAN_ROWS) -> Iterator[pa.Table]:
    """Batches put together into tables of about that many rows."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def guarded(reader: pa.RecordBatchReader, version: TableVersion) -> Iterator[pa.RecordBatch]:
    """The batches of a reader, with the store's failures as typed errors."""
    try:
        yield from reader
    except (OSError, pa.ArrowException) as error:
        raise read_error(version, error) from error


def drain(reader: pa.RecordBatchReader, version: TableVersion) -> pa.Table:
    """Everything a reader has left."""
    return pa.Table.from_batches(guarded(reader, version), schema=reader.schema)


def one_array(parts: Iterable[pa.ChunkedArray]) -> pa.Array:
    """Text columns one after the other, as one array."""
    return pa.chunked_array(
        [c for part in parts for c in part.chunks], pa.string()
    ).combine_chunks()


def read_error(version: TableVersion, error: Exception) -> StorageError:
    if "not found" not in str(error).lower():
        return StorageError(
            f"cannot read {version.location}: {error}",
            hint="Check that the store can be reached; `omnigraph verify` shows what is affected.",
        )
    return Corruption(
        f"a file of {version.location} is missing: {error}",
        hint="Run `omnigraph verify` to see what else is affected.",
        details={"location": version.location, "lance_version": version.lance},
    )
