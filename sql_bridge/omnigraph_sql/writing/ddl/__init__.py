"""Statements that change what there is: tables, types, views, schemas, branches."""
