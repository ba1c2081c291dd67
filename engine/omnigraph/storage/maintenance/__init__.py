"""Upkeep that changes no entity: collect, optimize, verify.

Promises that a collection deletes no file that a branch, a tag or a registered transaction needs.
Imports everything of storage but `transaction`.
"""
