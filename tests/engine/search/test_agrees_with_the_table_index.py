"""A search in memory means what the full-text index of a table means.

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

from omnigraph.exec.search import TextIndex, analyse_query
from omnigraph.storage.indexes import MissingIndex, _options

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
FOREIGN = (
    "Café CAFE résumé resume naïves Straße STRASSE œuvre ŒUVRE Łódź Ångström ñandú đak þing "
    "ｗｉｄｅ ﬁne x² ½ ⅷ Ⅷ ⑴ ㈠ ﷺ 日本語 日本 हिन्दी العربية Ελλάς ΕΛΛΑΣ Ǆ ǅ ǆ İstanbul istanbul "
    "ıssız 𝐁old Ⓐ ⓐ thé été e\u0301a foo\u00adbar don’t a\u200db ʼn ŉ ǽ K ẞ 🙂 ٣٤ १२ x1y2 "
) + " ".join(["z" * 38, "z" * 39, "z" * 40, "é" * 19, "é" * 20, "日" * 13, "日" * 14, "İ" * 19])


class TableIndex:
    """What Lance finds in the same column."""

    def __init__(self, path: Path, texts: list[str | None]) -> None:
        table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "body": pa.array(texts)})
        self._dataset: Any = lance.write_dataset(table, str(path))
        options = _options(MissingIndex("body", "inverted", (0,), len(texts), True))
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


def foreign_texts(rng: random.Random) -> list[str | None]:
    words = FOREIGN.split(" ")
    return [*words, *(rng.choice(" '_·").join(rng.choices(words, k=3)) for _ in range(200)), None]


@pytest.mark.parametrize("make", [english_texts, foreign_texts])
def test_finds_the_same(make: Any, tmp_path: Path) -> None:  # noqa: ANN401
    rng = random.Random(7)
    texts = make(rng)
    theirs, ours = TableIndex(tmp_path / "table", texts), TextIndex(pa.array(texts))
    queries = [*(english(rng) for _ in range(100)), *FOREIGN.split(" ")]
    queries += [" ".join(rng.choices(queries, k=2)) for _ in range(30)]
    for query in queries:
        found = np.flatnonzero(ours.matches(query, "search")).tolist()
        assert found == sorted(theirs.find(query)), query
        assert ours.bm25(query)[0].tolist() == found


def test_scores_the_same(tmp_path: Path) -> None:
    """Where every text has terms: a text without any counts here, and not there."""
    rng = random.Random(8)
    texts: list[str | None] = [f"kite {text}" for text in english_texts(rng)]
    theirs, ours = TableIndex(tmp_path / "table", texts), TextIndex(pa.array(texts))
    for query in [*(f"{english(rng)} {english(rng)}" for _ in range(40)), "kite"]:
        if len(set(analyse_query(query))) == len(analyse_query(query)):
            expected = theirs.find(query)
            positions, scores = ours.bm25(query)
            assert scores == pytest.approx([expected[p] for p in positions.tolist()], rel=1e-4)
