"""Commands on data, schemas and queries."""
