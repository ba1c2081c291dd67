"""Passes that resolve names to registered tables and quoted columns."""
