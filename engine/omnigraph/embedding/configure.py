"""The embedder that the environment configures."""

from __future__ import annotations

import os
from collections.abc import Mapping

from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.offline import OfflineEmbedder
from omnigraph.embedding.openai import OpenAIEmbedder
from omnigraph.errors import InvalidInput

OPENAI_URL = "https://api.openai.com/v1"


def configured_embedder(
    dimension: int, environment: Mapping[str, str] | None = None
) -> Embedder | None:
    """The embedder that `OMNIGRAPH_EMBEDDER` names, or none.

    `OMNIGRAPH_EMBEDDING_MODEL` names the model, for the offline one too, whose vectors do not
    depend on it; `OMNIGRAPH_EMBEDDING_URL` and `_KEY` say where the provider is and who asks.
    """
    settings = os.environ if environment is None else environment
    kind = settings.get("OMNIGRAPH_EMBEDDER", "").strip().lower()
    model = settings.get("OMNIGRAPH_EMBEDDING_MODEL", "").strip()
    if not kind:
        return None
    if kind == "offline":
        return OfflineEmbedder(dimension, model or "offline")
    if kind != "openai":
        raise InvalidInput(
            f"unknown embedder {kind!r} in OMNIGRAPH_EMBEDDER", hint="Use offline or openai."
        )
    if not model:
        raise InvalidInput(
            "OMNIGRAPH_EMBEDDING_MODEL is not set",
            hint="Name the model that the provider should use, e.g. text-embedding-3-small.",
        )
    return OpenAIEmbedder(
        url=settings.get("OMNIGRAPH_EMBEDDING_URL", "").strip() or OPENAI_URL,
        model=model,
        dimension=dimension,
        key=settings.get("OMNIGRAPH_EMBEDDING_KEY", "").strip() or None,
    )
