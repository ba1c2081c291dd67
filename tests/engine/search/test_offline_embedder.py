"""The offline embedder is the one that the language reference defines.

See docs/design/query-language.md#10-execution-and-json-rows.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.embedding import OfflineEmbedder, OpenAIEmbedder, configured_embedder
from omnigraph.embedding.embedder import normalised
from omnigraph.embedding.offline import fnv1a, xorshift
from omnigraph.errors import InvalidInput, ProviderError

MASK = 2**64 - 1


def reference(text: str, dimension: int) -> list[float]:
    x = 14695981039346656037
    for byte in text.encode():
        x = (x ^ byte) * 1099511628211 & MASK
    components = []
    for _ in range(dimension):
        x ^= x << 13 & MASK
        x ^= x >> 7
        x ^= x << 17 & MASK
        components.append(2 * x / MASK - 1)
    length = sqrt(sum(c * c for c in components))
    return [c / length for c in components]


def test_known_hashes() -> None:
    assert [hex(h) for h in fnv1a(["", "a", "foobar"]).tolist()] == [
        "0xcbf29ce484222325",
        "0xaf63dc4c8601ec8c",
        "0x85944171f73967e8",
    ]


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=6), st.sampled_from([1, 2, 7, 64]))
def test_vectors_are_those_of_the_definition(texts: list[str], dimension: int) -> None:
    vectors = OfflineEmbedder(dimension).embed(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), dimension)
    for row, text in zip(vectors, texts, strict=True):
        assert row.tolist() == pytest.approx(reference(text, dimension), abs=1e-7)


def test_a_text_has_one_vector_whatever_it_comes_with() -> None:
    embedder = OfflineEmbedder(16)
    together = embedder.embed(["kite", "a longer text about marshes", "", "kite"])
    assert np.array_equal(together[0], embedder.embed(["kite"])[0])
    assert np.array_equal(together[0], together[3])
    assert np.linalg.norm(together, axis=1) == pytest.approx([1.0] * 4)


def test_a_hash_of_zero_stays_zero_and_still_has_a_direction() -> None:
    state = xorshift(np.zeros(1, np.uint64))
    assert state.tolist() == [0]
    assert normalised(np.full((1, 4), -1.0)).tolist() == [[-0.5] * 4]


def test_extreme_lengths_are_normalised() -> None:
    assert normalised(np.array([[3e200, 4e200], [3e-200, 4e-200]])).tolist() == [
        pytest.approx([0.6, 0.8]),
        pytest.approx([0.6, 0.8]),
    ]


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_vectors_without_direction_are_refused(bad: float) -> None:
    with pytest.raises(ProviderError):
        normalised(np.array([[1.0, 0.0], [bad, 0.0]]))


def test_the_environment_chooses() -> None:
    assert configured_embedder(4, {}) is None
    offline = configured_embedder(4, {"OMNIGRAPH_EMBEDDER": "offline"})
    assert offline == OfflineEmbedder(4, "offline")
    named = {"OMNIGRAPH_EMBEDDER": "offline", "OMNIGRAPH_EMBEDDING_MODEL": "m"}
    assert configured_embedder(4, named) == OfflineEmbedder(4, "m")
    openai = {
        "OMNIGRAPH_EMBEDDER": "openai",
        "OMNIGRAPH_EMBEDDING_URL": "http://localhost:1/v1/",
        "OMNIGRAPH_EMBEDDING_MODEL": "m",
        "OMNIGRAPH_EMBEDDING_KEY": "sk-secret",
    }
    chosen = configured_embedder(4, openai)
    assert chosen == OpenAIEmbedder("http://localhost:1/v1/", "m", 4, "sk-secret")
    assert "sk-secret" not in repr(chosen)


@pytest.mark.parametrize(
    "settings",
    [
        {"OMNIGRAPH_EMBEDDER": "oracle"},
        {"OMNIGRAPH_EMBEDDER": "openai"},
        {"OMNIGRAPH_EMBEDDER": "openai", "OMNIGRAPH_EMBEDDING_URL": "ftp://x"},
        {"OMNIGRAPH_EMBEDDER": "openai", "OMNIGRAPH_EMBEDDING_URL": "http://x:port"},
        {"OMNIGRAPH_EMBEDDER": "openai", "OMNIGRAPH_EMBEDDING_KEY": "a\nb"},
    ],
)
def test_wrong_settings_are_refused_without_showing_them(settings: dict[str, str]) -> None:
    model = {"OMNIGRAPH_EMBEDDING_MODEL": "m"} if len(settings) > 1 else {}
    with pytest.raises(InvalidInput) as caught:
        configured_embedder(4, settings | model)
    assert "a\nb" not in str(caught.value)
