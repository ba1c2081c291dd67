"""The changes of single commits, and the change feed of a branch in pages.

Promises that a commit reads the same for ever, and delivery at least once. Imports `compare`.
"""
