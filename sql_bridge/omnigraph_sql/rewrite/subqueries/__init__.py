"""Passes that write subqueries as joins."""
