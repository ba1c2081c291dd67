"""What every package shares and none owns: Arrow, JSON, lexing, ULIDs, spilled rows, caches.

Knows no noun of a graph. Imports nothing of ours but `omnigraph.errors`.
"""
