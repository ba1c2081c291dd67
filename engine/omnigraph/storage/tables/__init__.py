"""The only door to data tables: build, read, look up, index, slice immutable versions.

Promises that a version never changes once built.
"""
