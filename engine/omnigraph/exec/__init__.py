"""Runs compiled `.gq` reads and mutations over a snapshot: dense ids, CSR adjacency, Arrow results.

Promises the rows that the query language defines, whatever is cached or indexed. Imports numpy,
pyarrow, omnigraph.query, schema, storage and loading, and DataFusion for large sorts; never lance.
"""
