"""Runs compiled `.gq`: reads over a snapshot (dense ids, CSR adjacency, streamed Arrow results),
mutations through one write transaction, and stored queries by name.

Promises sections 3-8 and 10 of the query language whatever is cached or indexed. Imports pyarrow,
numpy, omnigraph.query, schema, storage and the value rules of loading; never lance.
"""
