"""Arrow arrays and batches: concatenating, chunking, taking rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions: TypeAlias = npt.NDArray[np.integer[Any]]
_INT32 = 2**31 - 1
SCAN_ROWS = 1 << 20


def chunks(batches: Iterable[pa.RecordBatch], rows: int = SCAN_ROWS) -> Iterator[pa.Table]:
    """Batches concatenated to tables of about that many rows."""
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


def concat_texts(columns: Iterable[pa.Array | pa.ChunkedArray]) -> pa.ChunkedArray:
    """Text columns one after the other; nothing is copied."""
    parts = (
        column.chunks if isinstance(column, pa.ChunkedArray) else [column] for column in columns
    )
    return pa.chunked_array(chain.from_iterable(parts), pa.string())


def take(array: pa.Array, positions: Positions) -> pa.Array:
    """The values at positions, all of which exist."""
    if len(positions) == 1:
        return array.slice(int(positions[0]), 1)  # a look-up need not copy
    if isinstance(array, pa.FixedSizeListArray) and not array.null_count:
        return _take_vectors(array, positions)
    return array.take(pa.array(positions))


def _take_vectors(array: pa.FixedSizeListArray, positions: Positions) -> pa.Array:
    width = array.type.list_size
    flat = array.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(flat[positions].reshape(-1), array.type.value_type), type=array.type
    )


def one_array(chunks: Sequence[pa.Array], type_: pa.DataType) -> pa.Array:
    """Chunks as one array; text past 2 GiB gets 64-bit offsets."""
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        return pa.array([], type_)
    if pa.types.is_string(type_) and sum(chunk.nbytes for chunk in chunks) > _INT32:
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks)
