"""Embedding: text to unit vectors, by a provider over HTTP or by arithmetic alone.

Promises finite vectors of length one and of the dimension asked for, or a typed error. Imports
numpy, the standard library and omnigraph.errors only.
"""

from omnigraph.embedding.configure import configured_embedder
from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.offline import OfflineEmbedder
from omnigraph.embedding.openai import OpenAIEmbedder

__all__ = ["Embedder", "OfflineEmbedder", "OpenAIEmbedder", "configured_embedder"]
