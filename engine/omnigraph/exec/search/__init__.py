"""Text and vector search over columns in memory: matches, BM25 and exact nearest neighbours.

Promises the same answer whether or not a table has an index (query-language §6). Imports numpy,
pyarrow, PyStemmer and omnigraph.errors only; it knows columns and positions, no graph and no store.
"""

from omnigraph.exec.search.inverted_index import TextIndex
from omnigraph.exec.search.nearest_neighbours import VectorColumn, distances, top
from omnigraph.exec.search.text_analysis import Tokens, analyse, analyse_query

__all__ = [
    "TextIndex",
    "Tokens",
    "VectorColumn",
    "analyse",
    "analyse_query",
    "distances",
    "top",
]
