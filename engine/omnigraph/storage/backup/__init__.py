"""Copies of a whole graph: backup, restore, and single files put back by repair.

Promises that a copy shows one moment of the graph or, until it is complete, what it showed before;
that every step can be repeated after a kill; and that nothing replaces a file whose contents it
cannot vouch for. Imports everything of storage but `transaction`.
"""
