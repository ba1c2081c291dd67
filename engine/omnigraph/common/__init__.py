"""What every package shares and none owns: durations, JSON, lexing, spilled rows, bounded caches.

Knows no noun of a graph. Imports nothing of ours but `omnigraph.errors`.
"""
