"""Failures of a store while a table is read, as typed errors."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.errors import Corruption, StorageError
from omnigraph.storage.core.table_version import TableVersion


def guarded(reader: pa.RecordBatchReader, version: TableVersion) -> Iterator[pa.RecordBatch]:
    """The batches of a reader, with the store's failures as typed errors."""
    try:
        yield from reader
    except (OSError, pa.ArrowException) as error:
        raise read_error(version, error) from error


def drain(reader: pa.RecordBatchReader, version: TableVersion) -> pa.Table:
    """Everything a reader has left."""
    return pa.Table.from_batches(guarded(reader, version), schema=reader.schema)


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
