"""What is measured: lines of the table, each with the answer that a system must give first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.query_data import Data, Vectors, word

Rows: TypeAlias = list[tuple[Any, ...]]
AGE = 50
TOP = 10
SEARCHED = (400, 700, 1200)
"""Words of the text that is searched for: 10 to 3 texts of a thousand have one of them."""


@dataclass(frozen=True)
class Line:
    """One question. A system's answer comes as rows."""

    key: str
    title: str
    wrong: Callable[[Data, Rows], str | None]
    """What is wrong with an answer, if anything is."""


def searched_text() -> str:
    return " ".join(word(number) for number in SEARCHED)


def searched_vector(data: Data) -> Vectors:
    """Near the first vector, and equal to none."""
    return np.asarray(data.vectors[0] + np.float32(0.1))


# --------------------------------------------------------------------------- checking


def _count(expected: Callable[[Data], int]) -> Callable[[Data, Rows], str | None]:
    def wrong(data: Data, rows: Rows) -> str | None:
        return _differs([tuple(row) for row in rows], [(expected(data),)])

    return wrong


def _keys(expected: Callable[[Data], Sequence[int]]) -> Callable[[Data, Rows], str | None]:
    def wrong(data: Data, rows: Rows) -> str | None:
        return _differs(sorted(int(row[0]) for row in rows), sorted(expected(data)))

    return wrong


def _groups(
    expected: Callable[[Data], list[tuple[str, int, float]]],
) -> Callable[[Data, Rows], str | None]:
    def wrong(data: Data, rows: Rows) -> str | None:
        wanted, got = expected(data), sorted(rows)
        same = len(got) == len(wanted) and all(
            g[:2] == w[:2] and math.isclose(g[2], w[2], rel_tol=1e-9)
            for g, w in zip(got, wanted, strict=True)
        )
        return None if same else _differs(got[:2], wanted[:2]) or "other groups"

    return wrong


def _lookup(data: Data, rows: Rows) -> str | None:
    key = int(data.seeds[0])
    return _differs(
        [tuple(row) for row in rows],
        [(f"n{key:06d}", int(data.age[key]), f"city{data.city[key]:02d}")],
    )


def _bm25(data: Data, rows: Rows) -> str | None:
    """Many texts score the same, so the scores of the texts found are compared."""
    scores = data.bm25(list(SEARCHED))
    best = [round(float(s), 9) for s in np.sort(scores)[::-1][:TOP]]
    return _differs([round(float(scores[int(row[0])]), 9) for row in rows], best)


def _differs(got: object, wanted: object) -> str | None:
    return None if got == wanted else f"{str(got)[:150]} instead of {str(wanted)[:150]}"


# --------------------------------------------------------------------------- the lines


def _one(data: Data) -> int:
    return int(data.seeds[0])


def _ends(hops: int) -> Line:
    return Line(
        f"ends{hops}",
        f"distinct ends of {hops}-hop walks, one seed",
        _keys(lambda d: np.unique(d.walk_ends(d.seeds[:1], hops)).tolist()),
    )


def _within(hops: int) -> Line:
    return Line(
        f"within{hops}",
        f"nodes within {hops} hops, one seed",
        _count(lambda d: len(d.within(_one(d), hops))),
    )


def _walks(hops: int, many: bool) -> Line:
    return Line(
        f"{'many' if many else 'one'}{hops}",
        f"{hops}-hop walks, {'1000 seeds' if many else 'one seed'}",
        _count(lambda d: len(d.walk_ends(d.seeds if many else d.seeds[:1], hops))),
    )


LINES = (
    *(_ends(hops) for hops in (1, 2, 3)),
    *(_within(hops) for hops in (1, 2, 3)),
    *(_walks(hops, many=False) for hops in (1, 2, 3)),
    *(_walks(hops, many=True) for hops in (1, 2, 3)),
    Line("all2", "2-hop walks, whole graph", _count(Data.all_pairs)),
    Line("grouped", "the same by city, with average", _groups(Data.all_pairs_by_city)),
    Line("scan", "edges joined, filtered, by city", _groups(lambda d: d.scan(AGE))),
    Line("lookup", "one node by key", _lookup),
    Line(
        "vector",
        "exact nearest 10 of 100k x 128",
        _keys(lambda d: d.nearest(searched_vector(d), TOP)),
    ),
    Line("bm25", "best 10 texts for 3 words", _bm25),
)
