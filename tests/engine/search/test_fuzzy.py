"""Terms within an edit distance are found, and no others."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.exec.search import fuzzy_terms
from omnigraph.exec.search.fuzzy_terms import Vocabulary

TERM = st.text("abcxé日𝐁", min_size=1, max_size=8) | st.text(min_size=1, max_size=12)


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (x != y)))
    return row[-1]


def near(terms: list[str], term: str, distance: int) -> list[str]:
    return [terms[i] for i in Vocabulary(terms).within(term, distance).tolist()]


@given(st.lists(TERM.filter(lambda t: t.isprintable()), max_size=20), TERM, st.integers(0, 5))
def test_terms_within_the_distance_are_found(terms: list[str], term: str, distance: int) -> None:
    term = term.encode("utf-8", "replace").decode()
    expected = [t for t in terms if levenshtein(t, term) <= distance]
    assert near(terms, term, distance) == expected


def test_an_edit_is_one_character_whatever_its_bytes() -> None:
    assert near(["日本", "本", "𝐁𝐁"], "日", 1) == ["日本", "本"]


def test_an_empty_vocabulary_has_no_neighbours() -> None:
    assert near([], "kite", 3) == []


def test_many_terms_are_measured_in_batches() -> None:
    rng = random.Random(1)
    terms = ["".join(rng.choices("abcde", k=rng.randrange(1, 9))) for _ in range(3000)]
    expected = [t for t in terms if levenshtein(t, "abcd") <= 3]
    batch, fuzzy_terms.BATCH = fuzzy_terms.BATCH, 500
    try:
        assert near(terms, "abcd", 3) == expected
    finally:
        fuzzy_terms.BATCH = batch
