"""From text to terms: split into words, lower-case, fold to ASCII, drop stop words, stem.

These are the steps of docs/design/query-language.md#6-search in its order. (Lance's own full-text
index stems before it
drops stop words and folds last, so that it keeps "because" and finds no "resumes" for "résumés".)
Columns are split in numpy; Python sees each distinct word once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from omnigraph.common.array_types import Ints, Mask
from omnigraph.exec.search.ascii_folding import alphanumeric, folded

Codes = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being "
    "below between both but by can did do does doing down during each few for from further had "
    "has have having he her here hers herself him himself his how i if in into is it its itself "
    "just me more most my myself now of off on once only or other our ours ourselves out over "
    "own re same she should so some such than that the their theirs them themselves then there "
    "these they this those through to too under until up very was we were what when where which "
    "while who whom why will with you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
BLOCK_BYTES = 4 << 20
"""A column is split in blocks of about this size, which stay in the processor's cache."""

_LOWER_ASCII = bytes(ord(chr(b).lower()) if b < 128 else b for b in range(256))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The terms of every text, in order: those of text i are `codes[offsets[i] : offsets[i+1]]`.

    A code is an index into `terms`. `words` are the distinct words as they were written (but for
    the case of ASCII letters) and `word_codes` the code of each one's term, -1 for a dropped word.
    """

    offsets: Ints
    codes: Codes
    terms: tuple[str, ...]
    words: tuple[str, ...]
    word_codes: Codes


def analyse(texts: pa.Array | pa.ChunkedArray) -> Tokens:
    """The terms of a column of text; a null has none."""
    starts, pieces = [np.zeros(1, np.int64)], []
    for offsets, data in _blocks(texts):
        token_starts, words = _split(offsets, data)
        starts.append(token_starts[1:] + starts[-1][-1])
        pieces.append(words)
    column = pa.chunked_array(pieces, pa.large_string()).dictionary_encode()
    distinct = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    terms, word_codes = _vocabulary(distinct)
    words = [np.asarray(chunk.indices) for chunk in column.chunks]
    codes = word_codes[np.concatenate(words)] if words else np.empty(0, np.int32)
    known = codes >= 0
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(known)))
    return Tokens(before[np.concatenate(starts)], codes[known], terms, tuple(distinct), word_codes)


def analyse_query(text: str) -> list[str]:
    """The terms of a query, in order, repeated ones included."""
    inside = alphanumeric()
    words = "".join(c if inside[ord(c)] else " " for c in text).split()
    return [term for term in _terms(words) if term]


# --------------------------------------------------------------------------- words to terms


def _terms(words: Sequence[str]) -> list[str]:
    """Each word's term, empty where the word is dropped."""
    # A stemmer keeps state while it works, so no two threads may share one.
    stemmer = Stemmer.Stemmer("english", 0)
    plain = [_lower(word) for word in words]
    plain = [word if word.isascii() else folded(word) for word in plain]
    stems = stemmer.stemWords(plain)
    return ["" if word in STOP_WORDS else stem for word, stem in zip(plain, stems, strict=True)]


def _lower(word: str) -> str:
    # Letter by letter, so that a sigma is the same letter at the end of a word as inside it.
    return word.lower() if word.isascii() else "".join(c.lower() for c in word)


def _vocabulary(words: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """The distinct terms, and for each word the index of its term, -1 for none."""
    terms = _terms(words)
    indices = {term: code for code, term in enumerate(dict.fromkeys(("", *terms)), -1)}
    codes = np.fromiter(map(indices.__getitem__, terms), np.int32, len(terms))
    return tuple(indices)[1:], codes


# --------------------------------------------------------------------------- text to words


def _blocks(texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[Ints, Bytes]]:
    """The column in pieces: where each text begins, and the bytes of all of them."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        strings = chunk.cast(pa.large_string())
        if strings.null_count:
            strings = pc.fill_null(strings, "")
        if not len(strings):
            continue
        _, offsets, data = strings.buffers()
        first, count = strings.offset, len(strings)
        ends = np.frombuffer(offsets, np.int64)[first : first + count + 1]
        content = np.frombuffer(data or b"", np.uint8)
        cuts = np.searchsorted(ends, np.arange(ends[0] + BLOCK_BYTES, ends[-1], BLOCK_BYTES))
        for low, high in pairwise(np.unique((0, *cuts.tolist(), count)).tolist()):
            yield ends[low : high + 1] - ends[low], content[ends[low] : ends[high]]


def _split(offsets: Ints, data: Bytes) -> tuple[Ints, pa.LargeStringArray]:
    """The words of one block, and the number of the first word of each text."""
    lowered = np.frombuffer(data.tobytes().translate(_LOWER_ASCII), np.uint8)
    inside = _inside_words(lowered)
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    # Texts lie end to end: the first letter of one begins a word whatever comes before it.
    firsts = offsets[:-1][offsets[:-1] < len(data)]
    begins[firsts] = inside[firsts]
    letters = lowered[inside]
    starts = np.flatnonzero(begins)
    word_offsets = np.append(np.flatnonzero(begins[inside]), len(letters)).astype(np.int64)
    words = pa.LargeStringArray.from_buffers(
        len(starts), pa.py_buffer(word_offsets), pa.py_buffer(letters)
    )
    return np.searchsorted(starts, offsets).astype(np.int64), words


def _inside_words(data: Bytes) -> Mask:
    """For every byte, whether its character is a letter or digit."""
    table = alphanumeric()
    if not (data & 0x80).any():
        return table[:128][data]
    points = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    width = 1 + (points > 0x7F) + (points > 0x7FF).astype(np.int8) + (points > 0xFFFF)
    return np.repeat(table[points], width)
