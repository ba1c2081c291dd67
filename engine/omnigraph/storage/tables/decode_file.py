"""All that one Lance file holds, a few megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from lance.file import LanceFileReader

from omnigraph.errors import Corruption
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.read_errors import is_store_failure

SLICE_BYTES = 4 << 20
SLICE_ROWS = 1 << 18
"""So much of a file is asked for at once: Lance reads as far ahead as it is let."""
BATCH_ROWS = 1 << 14


def decoded(root: str, file: StoredFile, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Every column and row of a file below a root; fails if it cannot be read."""
    try:
        reader = LanceFileReader(f"{root}/{file.path}", storage_options=dict(options))
        rows = reader.num_rows()
        each = min(max(1, SLICE_BYTES * rows // max(file.size, 1)), SLICE_ROWS)
        for start in range(0, rows, each):
            part = reader.read_range(
                start, min(each, rows - start), batch_size=BATCH_ROWS, batch_readahead=1
            )
            yield from part.to_batches()
    except BaseException as error:
        if not is_store_failure(error):
            raise
        raise Corruption(
            f"the file {file.path} cannot be decoded: {error}",
            hint="Run `omnigraph verify --deep` to see what else is affected.",
            details={"file": file.path},
        ) from error
