"""On English text a search in memory means what the full-text index of a table means.

The index is built with the options that maintenance uses; the two are compared by what they find.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
import Stemmer  # type: ignore[import-not-found]  # compiled, without types

from omnigraph.exec.search.inverted_index import TextIndex
from omnigraph.exec.search.text_analysis import STOP_WORDS, analyse_query
from omnigraph.storage.tables.indexes import MissingIndex, _options

STEMS = (
    "kite marsh bird flow relat nation organ gener commun hop run stud happ argu commit operat "
    "sensib creat univers past later inter evening emerg lie die sky news inning proceed succeed "
    "doubl ogle apolog psycholog by be it no thi in on there hi oy yell bui spy quick prob down"
)
ENDINGS = (
    " s es ed ing ings ly e er ers y ies ied ational ization izer fulness ousness iveness ability "
    "bli ogi ogist li edly ingly eed eedly ement ment ent ion al ance ence ic able ible ant ism "
    "ate iti ous ive ize less ness"
)


class TableIndex:
    """What Lance finds in the same column."""

    def __init__(self, path: Path, texts: list[str | None]) -> None:
        table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "body": pa.array(texts)})
        self._dataset: Any = lance.write_dataset(table, str(path))
        options = _options(MissingIndex("body", "inverted", (0,), (0,), len(texts), True))
        self._dataset.create_scalar_index("body", "INVERTED", **options)

    def find(self, query: str) -> dict[int, float]:
        found = self._dataset.to_table(full_text_query=query, columns=["id", "_score"])
        return dict(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))


def english(rng: random.Random) -> str:
    word = rng.choice(STEMS.split()) + rng.choice(ENDINGS.split(" "))
    return rng.choice([word, word, word.upper(), word.title()])


def english_texts(rng: random.Random) -> list[str | None]:
    texts: list[str | None] = [
        rng.choice([" ", ", ", "-", "_"]).join(english(rng) for _ in range(rng.randrange(12)))
        for _ in range(400)
    ]
    return [*texts, None, "", "the and of"]


def means_the_same(query: str) -> bool:
    """Whether the order of stemming and dropping stop words makes no difference to a query."""
    stemmer = Stemmer.Stemmer("english", 0)
    words = query.lower().split()
    return all((word in STOP_WORDS) == (stemmer.stemWord(word) in STOP_WORDS) for word in words)


def test_finds_the_same(tmp_path: Path) -> None:
    rng = random.Random(7)
    texts = english_texts(rng)
    theirs, ours = TableIndex(tmp_path / "table", texts), TextIndex(pa.array(texts))
    queries = [english(rng) for _ in range(100)]
    queries += [" ".join(rng.choices(queries, k=2)) for _ in range(30)]
    queries = [query for query in queries if means_the_same(query)]
    assert len(queries) > 80
    for query in queries:
        found = np.flatnonzero(ours.matches(query, "search")).tolist()
        assert found == sorted(theirs.find(query)), query
        assert ours.bm25(query)[0].tolist() == found


def test_scores_the_same(tmp_path: Path) -> None:
    """Where every text has as many terms by both: a text without any counts only here."""
    rng = random.Random(8)
    made = [[english(rng) for _ in range(rng.randrange(12))] for _ in range(400)]
    texts: list[str | None] = ["kite " + " ".join(filter(means_the_same, words)) for words in made]
    theirs, ours = TableIndex(tmp_path / "table", texts), TextIndex(pa.array(texts))
    for query in [*(f"{english(rng)} {english(rng)}" for _ in range(40)), "kite"]:
        if len(set(analyse_query(query))) == len(analyse_query(query)):
            expected = theirs.find(query)
            positions, scores = ours.bm25(query)
            assert scores == pytest.approx([expected[p] for p in positions.tolist()], rel=1e-4)
