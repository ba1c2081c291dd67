"""How many requests an open graph has sent to its store, for metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """Totals of this process since the graph was opened."""

    reads: int
    """Requests that read."""
    writes: int
    """Requests that wrote."""
    read_bytes: int
    written_bytes: int
    retries: int
    """Publishes that lost to another writer and were tried again."""
    handle_hits: int
    """Table versions that were open already."""
    handle_misses: int
    """Table versions that had to be opened."""

    @property
    def operations(self) -> int:
        """All requests."""
        return self.reads + self.writes
