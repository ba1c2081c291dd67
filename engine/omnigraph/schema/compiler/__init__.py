"""A syntax tree to a catalog: names resolved, rules checked, identities assigned."""
