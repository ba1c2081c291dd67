"""What an embedder is, and what its vectors must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from omnigraph.errors import ProviderError

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors of one space, which `model` names."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        ...


EmbedderOf = Callable[[int], Embedder | None]
"""The embedder for vectors of a dimension, if there is one."""


def no_embedder(dimension: int) -> Embedder | None:
    """No embedder for any dimension."""
    return None


def normalised(vectors: npt.NDArray[np.float64]) -> Vectors:
    """The vectors with length one; refuses those that have no direction."""
    if not np.isfinite(vectors).all():
        raise ProviderError("an embedding has a component that is not finite")
    # By the largest component first: squares of extreme values would leave the range of floats.
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise ProviderError("an embedding is the zero vector, which has no direction")
    scaled = vectors / largest
    unit: Vectors = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
    return unit
