"""What passes know about a tree: its sources and their columns, types, parameters.

One scope (`column_sources`) and one type inference (`type_inference`) serve all passes; nothing
here changes a tree. Imports `catalog`, `datafusion` and `frontend`.
"""
