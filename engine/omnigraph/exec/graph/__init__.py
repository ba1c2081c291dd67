"""Adjacency, traversal, and the view of a graph that one run sees."""
