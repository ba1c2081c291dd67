"""What Lance is given to write, and its failures as typed errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from omnigraph.errors import OmniGraphError, StorageError
from omnigraph.schema.model.arrow_schema import BLOB_METADATA


def with_blobs(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """The schema with Blob columns marked as such: a scan gives them back as plain bytes."""
    return pa.schema(
        field.with_metadata(BLOB_METADATA)
        if pa.types.is_large_binary(field.type)
        and isinstance(stored.field(field.name).type, pa.BaseExtensionType)
        else field
        for field in schema
    )


@contextmanager
def writing(location: str) -> Iterator[None]:
    """Failures of the store inside this block, as errors about a table that is written."""
    try:
        yield
    except OmniGraphError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise StorageError(
            f"cannot write to {location}: {error}",
            hint="Check that the store is writable and has room; nothing was changed.",
            details={"location": location},
        ) from error
