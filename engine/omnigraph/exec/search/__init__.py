"""Text and vector search over columns in memory: matches, BM25 and exact nearest neighbours.

Promises the same answer whether or not a table has an index (query-language §6). Imports numpy,
pyarrow, PyStemmer and omnigraph.errors only; it knows columns and positions, no graph and no store.
"""
