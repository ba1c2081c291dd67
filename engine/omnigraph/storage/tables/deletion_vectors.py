"""Deletion vectors: which rows of a fragment are deleted, in files that are read and written whole.

Lance lists few offsets in an Arrow file and stores many as a Roaring bitmap (both are part of its
format). Marking thousands of rows through a condition would spell each of them out as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance.fragment import FragmentMetadata

from omnigraph.errors import Corruption

Offsets = npt.NDArray[np.uint32]
FileType = Literal["array", "bitmap"]

LISTED = 5000
"""More offsets than this are stored as a bitmap."""

_PLAIN, _WITH_RUNS = 12346, 12347
_NO_OFFSETS_BELOW = 4
"""With runs, so few containers come without a list of where they begin."""
_LISTED_IN_CONTAINER = 4096
_CONTAINER_BITS = 1 << 16


def read_offsets(stored: bytes, file_type: FileType) -> Offsets:
    """The offsets that a file marks, ascending."""
    try:
        if file_type == "array":
            table = pa.ipc.open_file(stored).read_all()
            return np.sort(table.column(0).to_numpy().astype(np.uint32))
        parts = list(_containers(stored))
    except (ValueError, IndexError, pa.ArrowException) as error:
        raise Corruption(
            f"a deletion file cannot be read: {error}",
            hint="Run `omnigraph verify` to see what is affected.",
        ) from error
    return np.concatenate([np.empty(0, np.uint32), *parts])


def write_offsets(offsets: Offsets) -> tuple[bytes, FileType]:
    """A file that marks (distinct, ascending) offsets, and its type."""
    if len(offsets) <= LISTED:
        schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(pa.table([pa.array(offsets, pa.uint32())], schema=schema))
        return sink.getvalue().to_pybytes(), "array"
    keys, starts, counts = np.unique(offsets >> 16, return_index=True, return_counts=True)
    low = (offsets & 0xFFFF).astype("<u2")
    bodies = [
        _body(low[start : start + count]) for start, count in zip(starts, counts, strict=True)
    ]
    head = np.column_stack([keys, counts - 1]).astype("<u2").tobytes()
    first = 8 + len(head) + 4 * len(bodies)
    starts_of_bodies = first + np.cumsum([0, *map(len, bodies[:-1])])
    cookie = np.array([_PLAIN, len(bodies)], "<u4").tobytes()
    return b"".join([cookie, head, starts_of_bodies.astype("<u4").tobytes(), *bodies]), "bitmap"


def _body(values: npt.NDArray[np.uint16]) -> bytes:
    if len(values) <= _LISTED_IN_CONTAINER:
        return values.tobytes()
    bits = np.zeros(_CONTAINER_BITS, np.uint8)
    bits[values] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _containers(stored: bytes) -> Iterator[Offsets]:
    """The offsets of each container of a Roaring bitmap."""
    cookie = int(np.frombuffer(stored, "<u4", 1)[0])
    if cookie == _PLAIN:
        size, at = int(np.frombuffer(stored, "<u4", 1, 4)[0]), 8
        runs = np.zeros(size, np.bool_)
    elif cookie & 0xFFFF == _WITH_RUNS:
        size, at = (cookie >> 16) + 1, 4
        flags = np.frombuffer(stored, np.uint8, -(-size // 8), at)
        runs = np.unpackbits(flags, bitorder="little")[:size].astype(np.bool_)
        at += len(flags)
    else:
        raise ValueError(f"{cookie} begins no Roaring bitmap")
    heads = np.frombuffer(stored, "<u2", 2 * size, at).reshape(size, 2)
    at += 4 * size
    if cookie == _PLAIN or size >= _NO_OFFSETS_BELOW:
        at += 4 * size
    for (key, last), is_run in zip(heads.tolist(), runs, strict=True):
        if is_run:
            count = int(np.frombuffer(stored, "<u2", 1, at)[0])
            spans = np.frombuffer(stored, "<u2", 2 * count, at + 2).reshape(count, 2).astype(int)
            values = np.concatenate([np.arange(s, s + more + 1) for s, more in spans])
            at += 2 + 4 * count
        elif last < _LISTED_IN_CONTAINER:
            values = np.frombuffer(stored, "<u2", last + 1, at)
            at += 2 * (last + 1)
        else:
            bits = np.frombuffer(stored, np.uint8, _CONTAINER_BITS // 8, at)
            values = np.flatnonzero(np.unpackbits(bits, bitorder="little"))
            at += len(bits)
        yield (values.astype(np.uint32) | np.uint32(key << 16)).astype(np.uint32)


def rows_key(fragment: FragmentMetadata) -> tuple[str, str]:
    """What fixes the live rows of a fragment: its data file and its deletion file.

    A number of deleted rows would not do: branches, and versions that were staged and never
    published, each take other rows out of the same data file.
    """
    deleted = fragment.deletion_file
    return fragment.files[0].path, f"{deleted.read_version}-{deleted.id}" if deleted else ""
