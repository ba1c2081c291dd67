"""Diffs between moments, the changes of commits, and merges of branches.

Promises differences by entity at a cost proportional to the change, under one equality of rows.
Imports storage, schema and common; knows no query language, no loading and no Lance.
"""
