"""Adjacency, traversal, and the view of a graph that one run sees.

Promises the same entities and neighbours from memory (`graph_view`), from the disk cache and by
look-up in indexes (`index_view`). Imports exec.columns and what lies below it.
"""
