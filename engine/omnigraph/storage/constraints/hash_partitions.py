"""Texts partitioned by a hash, so that equal ones meet in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import concat_texts

PARTITION_ROWS = 8 << 20
"""Ids compared in one go; more are compared in several passes, to bound memory."""


def duplicate_ids(chunks: Callable[[], Iterable[pa.Table]], rows: int) -> pa.StringArray:
    """Ids that occur more than once, in memory bounded by `PARTITION_ROWS` ids."""
    parts = -(-rows // PARTITION_ROWS) or 1
    found = [pa.array([], pa.string())]
    for part in range(parts):
        ids = concat_texts(part_of(chunk.column("id"), part, parts) for chunk in chunks())
        if not strictly_increasing(ids):
            found.append(repeated(ids))
    return pa.concat_arrays(found)


def repeated(texts: pa.ChunkedArray) -> pa.StringArray:
    """The texts that occur more than once, in the order of their first occurrence."""
    counts = texts.value_counts()
    return counts.field("values").filter(pc.greater(counts.field("counts"), 1))


def strictly_increasing(ids: pa.Array | pa.ChunkedArray) -> bool:
    """Whether every id is greater than the one before: then none can repeat."""
    if len(ids) < 2:
        return True
    head, tail = ids.slice(0, len(ids) - 1), ids.slice(1)
    sample = min(64, len(head))
    if not pc.all(pc.less(head.slice(0, sample), tail.slice(0, sample))).as_py():
        return False
    return bool(pc.all(pc.less(head, tail)).as_py())


def part_of(ids: pa.ChunkedArray, part: int, parts: int) -> pa.ChunkedArray:
    """The ids that belong to one of several parts; equal ids belong to the same one."""
    return ids if parts == 1 else ids.filter(part_mask(ids, part, parts))


def part_mask(texts: pa.ChunkedArray, part: int, parts: int) -> pa.ChunkedArray:
    """Which texts belong to one of several parts."""
    masks = [pa.array(_hash(chunk) % np.uint64(parts) == part) for chunk in texts.chunks]
    return pa.chunked_array(masks, pa.bool_())


def _hash(ids: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A cheap hash of each text: its length and last sixteen bytes, mixed."""
    offsets = np.frombuffer(ids.buffers()[1], np.int32)[ids.offset : ids.offset + len(ids) + 1]
    data = np.frombuffer(ids.buffers()[2] or b"\0", np.uint8)
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    mixed = (ends - starts).astype(np.uint64)
    for back in range(1, 17):
        at = ends - back
        byte = np.where(at >= starts, data[np.clip(at, 0, max(len(data) - 1, 0))], 0)
        mixed = (mixed ^ byte.astype(np.uint64)) * np.uint64(0x100000001B3)
    return mixed ^ (mixed >> np.uint64(29))
