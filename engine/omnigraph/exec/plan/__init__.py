"""A logical plan to a match plan, the access path it takes, and filters pushed into tables.

Promises the same rows whatever it chooses. Reads row counts and indexes, never rows. Imports
exec.graph, exec.evaluate and query.logical.
"""
