"""A three-way merge of two branches into one commit, or nothing.

Promises every conflict at once and rules checked wherever two valid sides can break them together.
Imports `compare`, storage, schema and common.
"""
