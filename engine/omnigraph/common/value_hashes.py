"""Hashes of Arrow values, eight bytes at a time and without a Python object for each.

Equal values have equal hashes whatever array, batch or process they come from. Two different ones
share a hash by a chance of one in 2^64, so who looks for equal values confirms what it finds, and
who looks for differences may rely on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

Hashes = npt.NDArray[np.uint64]

LONG = 512
"""Texts of more bytes are hashed one by one: they are few in a batch."""
_WORD = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ALL_BITS = np.uint64(2**64 - 1)


def value_hashes(values: pa.Array) -> Hashes:
    """A hash of each value, over all of its bytes; null has its own.

    What is no text is hashed as the text it is written as.
    """
    texts = values if pa.types.is_string(values.type) else values.cast(pa.string())
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    stored = memoryview(texts.buffers()[2] or b"")[first:last]
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    hashes = _by_words(stored, starts, lengths)
    for row in np.flatnonzero(lengths > LONG).tolist():
        start = int(starts[row])
        hashes[row] = xxhash.xxh3_64_intdigest(stored[start : start + int(lengths[row])])
    hashes = mixed(hashes)
    if texts.null_count:
        hashes[~pc.is_valid(texts).to_numpy(zero_copy_only=False)] = _FACTOR
    return hashes


def mixed(numbers: npt.NDArray[Any]) -> Hashes:
    """The finalizer of SplitMix64: every bit of a number changes half of the bits of its hash."""
    result = numbers.astype(np.uint64) + _FACTOR
    result = (result ^ (result >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    result = (result ^ (result >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashed: Hashes = result ^ (result >> np.uint64(31))
    return hashed


def _by_words(
    stored: memoryview, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Hashes:
    """All rows at once, word after word; rows that have no more words drop out."""
    padded = bytes(stored) + bytes(_WORD)
    word_at = np.ndarray((len(stored) + 1,), "<u8", padded, strides=(1,))
    hashes = lengths.astype(np.uint64) * _FACTOR
    rows: npt.NDArray[np.int64] = np.flatnonzero((lengths > 0) & (lengths <= LONG))
    at = 0
    while len(rows):
        left = np.minimum(lengths[rows] - at, _WORD)
        kept = _ALL_BITS >> (8 * (_WORD - left)).astype(np.uint64)
        hashed = (hashes[rows] ^ (word_at[starts[rows] + at] & kept)) * _FACTOR
        hashes[rows] = hashed ^ (hashed >> np.uint64(32))
        at += _WORD
        rows = rows[lengths[rows] > at]
    return hashes
