"""Text and vector search over columns in memory: matches, BM25 and exact nearest neighbours.

Promises the same answer whether or not a table has an index
(docs/design/query-language.md#6-search). Imports numpy,
pyarrow, PyStemmer, omnigraph.common and errors; knows columns and positions, no graph, no store.
"""
