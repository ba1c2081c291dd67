"""Vectors that are left to an embedder."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

import omnigraph
from omnigraph.errors import InvalidInput, QueryTypeError
from support.graphs import refused, rows

from .harness import affected, mutate

NOTES = """
node Note { slug: String @key  body: String?  vec: Vector(2) @embed(body, model="m1")
            title: String?  hint: Vector(2)? @embed(title) }
"""


class Lengths:
    """Embeds a text as (its length, 1); remembers what it was asked."""

    def __init__(self, model: str | None = "m1") -> None:
        self.model = model
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [[float(len(text)), 1.0] for text in texts]


class Constant:
    def __init__(self, vector: list[float]) -> None:
        self.vector = vector

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.vector for _ in texts]


TWO = """
insert Note { slug: "a", body: "xyz", title: "t" }  insert Note { slug: "b", body: "" }
"""


def test_missing_vectors_come_from_one_call_and_have_length_one(root: str) -> None:
    graph = omnigraph.init(root, NOTES)
    embedder = Lengths()
    assert affected(mutate(graph, TWO, embedder=embedder)) == (2, 0)
    assert sorted(map(sorted, embedder.calls)) == [sorted(["xyz", "t", ""])]
    first, second = rows(graph, "Note")
    assert first["vec"] == pytest.approx([3 / math.sqrt(10), 1 / math.sqrt(10)])
    assert first["hint"] == pytest.approx([math.sqrt(0.5)] * 2)
    assert second["vec"] == [0.0, 1.0]
    assert second["hint"] is None


def test_a_given_vector_is_stored_as_given(root: str) -> None:
    graph = omnigraph.init(root, NOTES)
    embedder = Lengths()
    mutate(graph, 'insert Note { slug: "a", body: "x", vec: [3, 4] }', embedder=embedder)
    assert rows(graph, "Note")[0]["vec"] == [3.0, 4.0]
    assert embedder.calls == []


def test_without_an_embedder_a_required_vector_fails_and_a_nullable_stays_null(root: str) -> None:
    graph = omnigraph.init(root, NOTES)
    error = refused(graph, InvalidInput, lambda: mutate(graph, TWO))
    assert "Note.vec" in error.message
    mutate(graph, 'insert Note { slug: "a", vec: [3, 4], title: "t" }')
    assert rows(graph, "Note")[0]["hint"] is None


def test_without_its_source_a_vector_is_simply_missing(root: str) -> None:
    graph = omnigraph.init(root, NOTES)
    with pytest.raises(QueryTypeError, match="T12"):
        mutate(graph, 'insert Note { slug: "a" }', embedder=Lengths())
    null = 'query q($b: String?) { insert Note { slug: "a", body: $b } }'
    error = refused(graph, InvalidInput, lambda: mutate(graph, null, embedder=Lengths()))
    assert "null" in error.message


def test_an_embedder_of_another_model_is_refused(root: str) -> None:
    graph = omnigraph.init(root, NOTES)
    error = refused(graph, InvalidInput, lambda: mutate(graph, TWO, embedder=Lengths("m2")))
    assert "m1" in error.message
    mutate(graph, TWO, embedder=Lengths(None))


@pytest.mark.parametrize("vector", [[0.0, 0.0], [1.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_an_unusable_vector_is_refused(root: str, vector: list[float]) -> None:
    graph = omnigraph.init(root, NOTES)
    refused(graph, InvalidInput, lambda: mutate(graph, TWO, embedder=Constant(vector)))
