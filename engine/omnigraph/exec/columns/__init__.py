"""Columns of a table version, and dense numbers of its entities: read once and cached.

Promises that a new version reads only the fragments it added. Knows tables and positions, no
edges and no expressions. Imports storage.tables, schema.model and common.
"""
