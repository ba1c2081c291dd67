"""A mutation as one transaction: one commit, or none when nothing matched.

Promises that updates and deletes decide on rows the transaction has in its read set. Imports
storage.transaction, loading (how values are stored) and query.
"""
