"""A syntax tree and a catalog to a checked query: every name resolved, every value typed.

Promises an error with its T code that points into the text. Imports `syntax`, `logical` and schema.
"""
