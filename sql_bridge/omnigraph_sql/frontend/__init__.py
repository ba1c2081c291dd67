"""SQL text to sqlglot trees: tokens, statements, limits, syntax errors, types and identifiers.

Knows no graph and no DataFusion; imports `omnigraph.errors` and nothing of this package.
"""
