"""Scores of docs/design/query-language.md#6-search, computed one entity at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from oracle.text import terms

K1, B = 1.2, 0.75


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def bm25_scores(texts: Mapping[str, str | None], query: str | None) -> dict[str, float]:
    """Scores of the texts that hold a term of the query."""
    if query is None:
        return {}
    documents = {id_: terms(text) for id_, text in texts.items() if text is not None}
    if not documents:
        return {}
    average = sum(map(len, documents.values())) / len(documents) or 1.0
    scores: dict[str, float] = {}
    for term in set(terms(query)):
        holders = [id_ for id_, words in documents.items() if term in words]
        rarity = math.log(1 + (len(documents) - len(holders) + 0.5) / (len(holders) + 0.5))
        for id_ in holders:
            words = documents[id_]
            often = words.count(term)
            length = 1 - B + B * len(words) / average
            weight = rarity * often * (K1 + 1) / (often + K1 * length)
            scores[id_] = scores.get(id_, 0.0) + weight
    return scores


def in_order(scores: Mapping[str, float], *, ascending: bool) -> list[str]:
    """Entities, best first; equal ones by id."""
    return sorted(scores, key=lambda id_: (scores[id_] if ascending else -scores[id_], id_))


def fused(first: Sequence[str], second: Sequence[str], k: int) -> dict[str, float]:
    """Reciprocal rank fusion, best first; ties keep the order of the first list, then the other."""
    everyone = [*first, *(id_ for id_ in second if id_ not in first)]
    scores = {
        id_: sum(1 / (k + arm.index(id_) + 1) for arm in (first, second) if id_ in arm)
        for id_ in everyone
    }
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
