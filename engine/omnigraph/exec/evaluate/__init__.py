"""Expressions, comparisons, scores and sort keys over bindings."""
