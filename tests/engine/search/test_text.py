"""Matches and BM25 are what a loop over the analysed texts says."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InvalidInput
from omnigraph.exec.search import inverted_index
from omnigraph.exec.search.inverted_index import K1, B, TextIndex
from omnigraph.exec.search.text_analysis import analyse_query

NOTES = ["red kite over the marsh", "kite festival", "marsh birds", "red marsh red marsh"]
WORDS = st.sampled_from(["kite", "Kites", "marsh", "red", "the", "café", "cafe", "42", "birds", ""])
TEXTS = st.lists(st.none() | st.lists(WORDS, max_size=6).map(" ".join), max_size=12)


def found(
    column: list[str | None], query: str, kind: str, distance: int | None = None
) -> list[int]:
    index = TextIndex(pa.array(column, pa.string()))
    return np.flatnonzero(index.matches(query, kind, distance)).tolist()  # type: ignore[arg-type]


def reference_bm25(texts: list[str | None], query: str) -> dict[int, float]:
    bags = {i: Counter(analyse_query(body)) for i, body in enumerate(texts) if body is not None}
    mean = sum(bag.total() for bag in bags.values()) / max(len(bags), 1)
    scores: dict[int, float] = {}
    for term in sorted(set(analyse_query(query))):
        holders = {i: bag for i, bag in bags.items() if term in bag}
        idf = log(1 + (len(bags) - len(holders) + 0.5) / (len(holders) + 0.5))
        for i, bag in holders.items():
            tf = bag[term]
            norm = K1 * (1 - B + B * bag.total() / mean)
            scores[i] = scores.get(i, 0.0) + idf * tf * (K1 + 1) / (tf + norm)
    return scores


def test_example_23() -> None:
    assert found([*NOTES], "Kites", "search") == [0, 1]
    assert found([*NOTES], "kite marsh", "search") == [0, 1, 2, 3]
    positions, scores = TextIndex(pa.array(NOTES)).bm25("marsh")
    assert positions.tolist() == [0, 2, 3]
    assert [f"n{p + 1}" for p in positions[np.argsort(-scores)]] == ["n4", "n3", "n1"]


def test_match_text_is_search() -> None:
    assert found([*NOTES], "marsh, KITES!", "match_text") == [0, 1, 2, 3]


@pytest.mark.parametrize("query", ["", "the", "The and OF", "...", "x" * 50, "heron"])
@pytest.mark.parametrize("kind", ["search", "match_text", "fuzzy"])
def test_a_query_without_known_terms_matches_nothing(query: str, kind: str) -> None:
    assert found([*NOTES, "", "the", None], query, kind) == []
    assert TextIndex(pa.array(NOTES)).bm25(query)[0].tolist() == []


def test_nulls_never_match() -> None:
    assert found([None, "kite", None], "kite", "search") == [1]
    assert found([None, None], "kite", "fuzzy") == []
    assert found([], "kite", "search") == []


def test_numbers_are_words() -> None:
    assert found(["route 66", "route 6", "66.5"], "66", "search") == [0, 2]


def test_fuzzy_compares_terms() -> None:
    texts: list[str | None] = ["the kites", "mite", "kitten", "marsh", "KÎTE", None, ""]
    assert found(texts, "kite", "fuzzy", 0) == [0, 4]
    assert found(texts, "kite", "fuzzy", 1) == [0, 1, 4]
    assert found(texts, "kite", "fuzzy") == [0, 1, 2, 4]
    assert found(texts, "zzzz mrsh", "fuzzy", 1) == [3]
    assert found(texts, "kite", "fuzzy", 1000) == [0, 1, 2, 3, 4]


def test_fuzzy_finds_many_terms_as_it_finds_few(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str | None] = [f"word{i} {i}" for i in range(300)]
    few = found(texts, "word7", "fuzzy")
    monkeypatch.setattr(inverted_index, "FEW", 0)
    assert found(texts, "word7", "fuzzy") == few
    assert len(few) > 100


def test_a_negative_distance_is_refused() -> None:
    with pytest.raises(InvalidInput, match="0 or more"):
        found(["kite"], "kite", "fuzzy", -1)


@given(TEXTS, st.lists(WORDS, max_size=4).map(" ".join))
def test_matches_are_those_of_a_loop(texts: list[str | None], query: str) -> None:
    terms = set(analyse_query(query))
    expected = [i for i, body in enumerate(texts) if terms & set(analyse_query(body or ""))]
    assert found(texts, query, "search") == expected


@given(TEXTS, st.lists(WORDS, max_size=4).map(" ".join), st.integers(0, 40))
def test_bm25_is_that_of_a_loop(texts: list[str | None], query: str, padding: int) -> None:
    """With few matches among many texts, and with many."""
    column = texts + ["heron"] * padding
    expected = reference_bm25(column, query)
    positions, scores = TextIndex(pa.array(column, pa.string())).bm25(query)
    assert positions.dtype == np.int64
    assert scores.dtype == np.float64
    assert positions.tolist() == sorted(expected)
    assert scores.tolist() == pytest.approx([expected[i] for i in positions.tolist()], rel=1e-12)


def test_scores_do_not_depend_on_the_order_or_number_of_words() -> None:
    index = TextIndex(pa.array([*NOTES, *["heron"] * 30]))
    for query in ("red kite marsh", "marsh red kite red", "Kites, the red marshes"):
        positions, scores = index.bm25(query)
        assert positions.tolist() == [0, 1, 2, 3]
        assert scores.tolist() == index.bm25("kite marsh red")[1].tolist()


def test_an_index_says_what_it_weighs() -> None:
    small, large = TextIndex(pa.array(NOTES)), TextIndex(pa.array(NOTES * 1000))
    assert 0 < small.nbytes < large.nbytes
