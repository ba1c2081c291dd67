"""A mutation as one transaction."""
