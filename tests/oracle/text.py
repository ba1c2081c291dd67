"""Text analysis of docs/design/query-language.md#6-search, one text at a time."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import import_module
from importlib.util import find_spec

_WORDS = """a an and are as at be but by for if in into is it no not of on or such that the their
then there these they this to was will with"""
STOP_WORDS = frozenset(re.split(r"\s+", _WORDS))


def can_stem() -> bool:
    return find_spec("snowballstemmer") is not None


@cache
def _stem(word: str) -> str:
    if not can_stem():
        return word
    return str(import_module("snowballstemmer").stemmer("english").stemWord(word))


def terms(text: str) -> list[str]:
    """Split, lower-case, fold to ASCII, drop stop words, stem."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [_stem(word) for word in map(_folded, words) if word not in STOP_WORDS]


def _folded(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word)
    return "".join(c for c in apart if not unicodedata.combining(c))


def text_matches(text: str, query: str, far: int) -> bool:
    """Whether any query term is within an edit distance of a term of the text."""
    return any(edits(a, b) <= far for a in terms(query) for b in terms(text))


def edits(a: str, b: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
