"""Plain tables: rows of any columns beside the graph, with what SQL declared about them.

Promises that a published table keeps its NOT NULL, key and check constraints. Imports storage up
to `graph_store`.
"""
