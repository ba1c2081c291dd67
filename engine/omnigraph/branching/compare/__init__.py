"""The difference between two moments: types paired by identity, rows by id, columns by property.

Promises the cost of the change, not of the graph. Imports storage, schema and common.
"""
