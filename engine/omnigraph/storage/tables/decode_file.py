"""All that one Lance file holds, a few megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from lance.file import LanceFileReader

from omnigraph.errors import Corruption
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.read_errors import is_panic

SLICE_BYTES = 4 << 20
"""So much of a file is asked for at once: Lance reads as far ahead as it is let."""


def decoded(root: str, file: StoredFile, options: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Every column and row of a file below a root; fails if it cannot be read."""
    try:
        reader = LanceFileReader(f"{root}/{file.path}", storage_options=dict(options))
        rows = reader.num_rows()
        each = max(1, SLICE_BYTES * rows // max(file.size, 1))
        for start in range(0, rows, each):
            count = min(each, rows - start)
            yield from reader.read_range(start, count, batch_size=count).to_batches()
    except BaseException as error:
        if not (is_panic(error) or isinstance(error, OSError | ValueError | pa.ArrowException)):
            raise
        raise Corruption(
            f"the file {file.path} cannot be decoded: {error}",
            hint="Run `omnigraph verify --deep` to see what else is affected.",
            details={"file": file.path},
        ) from error
