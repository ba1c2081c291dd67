"""The offline embedder: vectors out of arithmetic, for tests and demonstrations.

It is defined in docs/design/query-language.md#10-execution-and-json-rows.

Equal texts get equal vectors, on every machine; similar texts do not get similar ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omnigraph.embedding.embedder import Vectors, normalised

Words = npt.NDArray[np.uint64]

FNV_OFFSET = np.uint64(14695981039346656037)
FNV_PRIME = np.uint64(1099511628211)


@dataclass(frozen=True, slots=True)
class OfflineEmbedder:
    """A hash of the text seeds a generator, which gives the components one by one."""

    dimension: int
    model: str = "offline"

    def embed(self, texts: Sequence[str]) -> Vectors:
        state = fnv1a(texts)
        components = np.empty((len(texts), self.dimension))
        for i in range(self.dimension):
            state = xorshift(state)
            components[:, i] = 2.0 * state.astype(np.float64) / float(2**64 - 1) - 1.0
        return normalised(components)


def fnv1a(texts: Sequence[str]) -> Words:
    """The 64-bit FNV-1a hash of each text's UTF-8.

    Goes through all texts byte by byte together, the longest first, so that those still going on
    are always the first ones.
    """
    contents = [text.encode(errors="surrogatepass") for text in texts]
    lengths = np.fromiter(map(len, contents), np.int64, len(contents))
    order = np.argsort(-lengths, kind="stable")
    data = np.frombuffer(b"".join(contents[i] for i in order), np.uint8).astype(np.uint64)
    lengths = lengths[order]
    starts = np.cumsum(lengths) - lengths
    hashes = np.full(len(contents), FNV_OFFSET)
    going = len(lengths) - np.searchsorted(
        lengths[::-1], np.arange(lengths.max(initial=0)), "right"
    )
    for offset, count in enumerate(going.tolist()):
        hashes[:count] = (hashes[:count] ^ data[starts[:count] + offset]) * FNV_PRIME
    result = np.empty_like(hashes)
    result[order] = hashes
    return result


def xorshift(state: Words) -> Words:
    """The next state of each xorshift64 generator. Zero stays zero, as the definition has it."""
    state = state ^ (state << np.uint64(13))
    state = state ^ (state >> np.uint64(7))
    return state ^ (state << np.uint64(17))
