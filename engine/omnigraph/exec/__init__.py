"""Runs compiled `.gq` reads over a snapshot: dense ids, CSR adjacency, streamed Arrow results.

Promises the rows of sections 3-6 and 10 of the query language whatever is cached or indexed.
Imports pyarrow, numpy, omnigraph.query, omnigraph.schema and omnigraph.storage, and DataFusion for
large sorts; never lance.
"""
