"""Runs compiled queries: reads over a snapshot, mutations through one write transaction.

Promises what the language reference says, whatever indexes exist. Imports omnigraph.query, schema,
storage and the value rules of loading; nothing of cli.
"""
