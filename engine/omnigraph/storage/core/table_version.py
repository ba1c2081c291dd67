"""The address of a table version."""

from __future__ import annotations

from dataclasses import dataclass, field

PROBE_LIMIT = 2000
"""Up to this many ids are looked up one by one through the index; more are joined with a scan."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """An address of a table version: where, and which Lance version."""

    location: str
    lance: int
    digest: str | None = field(default=None, compare=False)
    """The digest of the version file, where it is known: it says nothing about the address."""
