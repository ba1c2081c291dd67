"""Statements that change definitions: tables, types, views, schemas, branches and tags.

Imports `writing.statement`; types of the graph are changed through its `.pg` schema.
"""
