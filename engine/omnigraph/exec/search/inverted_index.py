"""An inverted index over one column of text, and the searches of the language.

Built once per column and never changed. Positions are row numbers of the column.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.common.array_types import Ints, Mask
from omnigraph.errors import InvalidInput
from omnigraph.exec.search.fuzzy_terms import Vocabulary
from omnigraph.exec.search.text_analysis import Tokens, analyse, analyse_query

SearchKind = Literal["search", "match_text", "fuzzy"]
TextScores = npt.NDArray[np.float64]

K1, B = 1.2, 0.75
FUZZY_DISTANCE = 2
SPARSE = 8
"""Scores are summed in an array over the column unless it is this many times what they touch."""

FEW = 1000
"""Up to this many terms are looked up one by one; for more, all postings are gone through."""

_TERM_BYTES = 120
"""What a term weighs in the dictionary that finds it, besides the arrays."""


class TextIndex:
    """For each term, the ascending positions of the texts that hold it, and how often they do."""

    def __init__(self, column: pa.Array | pa.ChunkedArray) -> None:
        self._size = len(column)
        self._documents = self._size - column.null_count
        tokens = analyse(column)
        self._terms = {term: code for code, term in enumerate(tokens.terms)}
        self._starts, self._positions, self._counts = _postings(tokens, self._size)
        # The part of BM25's denominator that depends on the text alone.
        lengths = np.diff(tokens.offsets)
        mean = lengths.sum() / self._documents if self._documents else 0.0
        self._norms = K1 * (1 - B + B * lengths / (mean or 1.0))

    @property
    def nbytes(self) -> int:
        """The memory the index takes, with what a first fuzzy search adds to it."""
        arrays = (self._starts, self._positions, self._counts, self._norms)
        fuzzy = sum(24 + 4 * len(term) for term in self._terms)
        return sum(array.nbytes for array in arrays) + fuzzy + _TERM_BYTES * len(self._terms)

    def matches(self, query: str, kind: SearchKind, distance: int | None = None) -> Mask:
        """For each position, whether its text holds a term of the query, or one near to it."""
        codes = self._near(query, distance) if kind == "fuzzy" else self._term_codes(query)
        found = np.zeros(self._size, np.bool_)
        if len(codes) > FEW:
            chosen = np.zeros(len(self._terms), np.bool_)
            chosen[codes] = True
            found[self._positions[np.repeat(chosen, np.diff(self._starts))]] = True
            return found
        for code in codes:
            found[self._positions[self._starts[code] : self._starts[code + 1]]] = True
        return found

    def bm25(self, query: str) -> tuple[Ints, TextScores]:
        """The ascending positions that hold a term of the query, and how well they match it."""
        parts = [self._scores(code) for code in self._term_codes(query)]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        if len(parts) == 1:
            return parts[0][0].astype(np.int64), parts[0][1]
        if sum(len(positions) for positions, _ in parts) * SPARSE < self._size:
            positions, which = np.unique(
                np.concatenate([positions for positions, _ in parts]), return_inverse=True
            )
            total = np.zeros(len(positions))
            np.add.at(total, which, np.concatenate([scores for _, scores in parts]))
            return positions.astype(np.int64), total
        total = np.zeros(self._size)
        for positions, scores in parts:
            total[positions] += scores
        # Every part is above zero, so what is not was touched by none.
        touched = np.flatnonzero(total)
        return touched, total[touched]

    # ------------------------------------------------------------------ terms

    def _term_codes(self, query: str) -> list[int]:
        """The codes of the query's terms; in one order, so that sums do not depend on its own."""
        terms = sorted(set(analyse_query(query)))
        return [self._terms[term] for term in terms if term in self._terms]

    def _near(self, query: str, distance: int | None) -> list[int]:
        allowed = FUZZY_DISTANCE if distance is None else distance
        if allowed < 0:
            raise InvalidInput(
                f"the distance of fuzzy is 0 or more, not {allowed}", hint="Leave it out for 2."
            )
        if allowed == 0:
            return self._term_codes(query)
        near = [self._vocabulary.within(term, allowed) for term in set(analyse_query(query))]
        return sorted(set().union(*(codes.tolist() for codes in near)))

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(tuple(self._terms))

    def _scores(self, code: int) -> tuple[npt.NDArray[np.int32], TextScores]:
        postings = slice(self._starts[code], self._starts[code + 1])
        positions, counts = self._positions[postings], self._counts[postings]
        rarity = np.log(1 + (self._documents - len(positions) + 0.5) / (len(positions) + 0.5))
        return positions, rarity * (K1 + 1) * counts / (counts + self._norms[positions])


def _postings(
    tokens: Tokens, size: int
) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Where each term's postings begin, their positions, and the term's count at each."""
    positions = np.repeat(np.arange(size), np.diff(tokens.offsets))
    keys = np.sort(tokens.codes * np.int64(size) + positions)
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys)).astype(np.int32)
    distinct = keys[first]
    starts = np.searchsorted(distinct, np.arange(len(tokens.terms) + 1) * size)
    return starts, (distinct % max(size, 1)).astype(np.int32), counts
