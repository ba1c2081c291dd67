"""SQL text to sqlglot trees: dialects, limits, types, identifiers."""
