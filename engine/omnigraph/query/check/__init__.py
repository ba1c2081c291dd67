"""A syntax tree and a catalog to a checked query: every name resolved, every rule held."""
