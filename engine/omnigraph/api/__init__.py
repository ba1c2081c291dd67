"""`Graph` and what it gives; its documented names are those of `omnigraph` and `omnigraph.bulk`.

Promises the public Python API. Imports every package of the engine but `cli`.
"""
