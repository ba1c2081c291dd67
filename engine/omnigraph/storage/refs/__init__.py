"""Branches, tags, definitions, moments, and the snapshots that they name.

Promises that a snapshot never changes and that a name means one thing. Imports everything of
storage but `maintenance` and `transaction`.
"""
