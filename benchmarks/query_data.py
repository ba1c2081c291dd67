"""The graph that queries are measured on, and the answers to expect, computed with numpy.

100,000 people and a million distinct edges between them: out-degrees near ten, in-degrees skewed,
the same at every run. Beside them documents of twenty words, frequent ones more often, and vectors.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Vectors: TypeAlias = npt.NDArray[np.float32]

PEOPLE, EDGES, SEEDS = 100_000, 1_000_000, 1000
DIMENSION, WORDS, WORDS_PER_TEXT, CITIES = 128, 5000, 20, 50
_LETTERS = "bcdfghjkmp"
"""Digits of a word: no engine stems, stops or splits a word without vowels."""
VERSION = "1"


@dataclass(frozen=True)
class Data:
    """The columns of everything that is loaded; node numbers are keys."""

    source: Ints
    target: Ints
    weight: Floats
    age: Ints
    city: Ints
    seeds: Ints
    words: Ints
    vectors: Vectors

    @property
    def people(self) -> int:
        return len(self.age)

    @cached_property
    def degree(self) -> Ints:
        return np.bincount(self.source, minlength=self.people).astype(np.int64)

    @cached_property
    def _ordered(self) -> Ints:
        return self.target[np.argsort(self.source, kind="stable")]

    @cached_property
    def _starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.degree)])

    # ------------------------------------------------------------------ answers

    def walk_ends(self, start: Ints, hops: int) -> Ints:
        """The last node of every walk of some hops."""
        at = start
        for _ in range(hops):
            fan = self.degree[at]
            first = np.repeat(self._starts[at] - np.cumsum(fan) + fan, fan)
            at = self._ordered[first + np.arange(fan.sum())]
        return np.asarray(at)

    def within(self, start: int, hops: int) -> Ints:
        """Nodes at a shortest distance of one to some hops."""
        seen = np.array([start])
        frontier = seen
        for _ in range(hops):
            frontier = np.setdiff1d(self.walk_ends(frontier, 1), seen)
            seen = np.union1d(seen, frontier)
        return np.asarray(seen[seen != start])

    def all_pairs(self) -> int:
        """Walks of two hops in the whole graph."""
        return int(self.degree[self.target].sum())

    def all_pairs_by_city(self) -> list[tuple[str, int, float]]:
        """Walks of two hops by the city they start in, and the average age where they end."""
        ages = np.bincount(self.source, weights=self.age[self.target], minlength=self.people)
        groups = self.city[self.source]
        count = np.bincount(groups, weights=self.degree[self.target])
        total = np.bincount(groups, weights=ages[self.target])
        return [
            (city_name(c), int(count[c]), float(total[c] / count[c])) for c in range(len(count))
        ]

    def scan(self, older_than: int) -> list[tuple[str, int, float]]:
        """Edges to people above an age, by the city of their source, with the average weight."""
        kept = self.age[self.target] > older_than
        groups = self.city[self.source[kept]]
        count = np.bincount(groups)
        total = np.bincount(groups, weights=self.weight[kept])
        return [
            (city_name(c), int(count[c]), float(total[c] / count[c])) for c in range(len(count))
        ]

    def nearest(self, vector: Vectors, k: int) -> list[int]:
        distances = ((self.vectors - vector) ** 2).sum(axis=1)
        best = np.argpartition(distances, k)[:k]
        return [int(i) for i in best[np.argsort(distances[best])]]

    def frequencies(self, words: list[int]) -> npt.NDArray[Any]:
        """How often each text has each of the words."""
        return np.stack([(self.words == word).sum(axis=1) for word in words], axis=1)

    def bm25(self, words: list[int]) -> Floats:
        """Scores of all texts; they are equally long, so that length does not matter."""
        found = self.frequencies(words)
        holding = (found > 0).sum(axis=0)
        weights = np.log(1 + (len(found) - holding + 0.5) / (holding + 0.5))
        return np.asarray((weights * found * 2.2 / (found + 1.2)).sum(axis=1))

    # ------------------------------------------------------------------ tables

    def people_table(self) -> pa.Table:
        seed = np.zeros(self.people, bool)
        seed[self.seeds] = True
        return pa.table(
            {
                "key": np.arange(self.people),
                "name": [f"n{i:06d}" for i in range(self.people)],
                "age": self.age,
                "city": [city_name(c) for c in self.city],
                "seed": seed,
            }
        )

    def edges_table(self) -> pa.Table:
        return pa.table({"src": self.source, "dst": self.target, "w": self.weight})

    def texts(self) -> list[str]:
        spelled = np.array([word(i) for i in range(WORDS)])
        return [" ".join(row) for row in spelled[self.words]]

    def documents_table(self) -> pa.Table:
        vectors = pa.FixedSizeListArray.from_arrays(self.vectors.ravel(), DIMENSION)
        keys = np.arange(len(self.vectors))
        return pa.table({"key": keys, "text": self.texts(), "vec": vectors})


def word(number: int) -> str:
    return "w" + "".join(_LETTERS[int(digit)] for digit in f"{number:04d}")


def city_name(number: int) -> str:
    return f"city{number:02d}"


def generate(scale: float) -> Data:
    """The graph, smaller or larger than usual by a factor; as dense at any scale."""
    people, edges = round(PEOPLE * scale), round(EDGES * scale)
    rng = np.random.default_rng(7)
    popular = rng.permutation(people)

    def draw(count: int) -> Ints:
        sources = rng.integers(0, people, count)
        targets = popular[(people * rng.random(count) ** 2).astype(np.int64)]
        return np.asarray(sources * people + targets)

    pairs = np.unique(draw(edges))
    while len(pairs) < edges:
        pairs = np.unique(np.concatenate([pairs, draw(edges - len(pairs) + 1000)]))
    pairs = rng.permutation(pairs)[:edges]
    source, target = pairs // people, pairs % people
    age = rng.integers(0, 100, people)
    city = rng.integers(0, CITIES, people)
    weight = rng.random(edges)
    outgoing = np.flatnonzero(np.bincount(source, minlength=people) > 5)
    seeds = rng.choice(outgoing, min(SEEDS, people // 10), replace=False)
    likely = 1 / np.arange(1, WORDS + 1)
    words = rng.choice(WORDS, (people, WORDS_PER_TEXT), p=likely / likely.sum())
    vectors = rng.standard_normal((people, DIMENSION), dtype=np.float32)
    return Data(source, target, weight, age, city, seeds, words, vectors)


def kept(folder: Path, scale: float) -> Data:
    """The graph of a scale, generated once and kept in a folder."""
    home = folder / f"graph-{VERSION}-{scale:g}"
    names = list(Data.__dataclass_fields__)
    if not home.exists():
        made = generate(scale)
        aside = home.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for name in names:
            np.save(aside / f"{name}.npy", getattr(made, name))
        aside.rename(home)
    return Data(**{name: np.load(home / f"{name}.npy") for name in names})
