"""Columns of a table version and dense numbers of its entities, read once and cached."""
