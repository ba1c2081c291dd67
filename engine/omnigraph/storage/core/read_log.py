"""What a transaction has read through its own handle, by the keys that a head has for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.storage.core.model import Head


@dataclass(slots=True)
class ReadLog:
    """Reads so far. Snapshots of a transaction share it; after the commit nobody looks at it."""

    keys: set[str] = field(default_factory=set)
    """Tables and definitions whose contents were read; a bare kind (`view:`) is its list."""
    schema: bool = False
    """Whether the schema was looked at, as every read of a node or edge type does."""


def is_unmoved(key: str, before: Head, after: Head) -> bool:
    """Whether a read of a key gives the same on two heads; of a list, whether it has the same."""
    kind, _, name = key.partition(":")
    if name:
        return _contents(before, key) == _contents(after, key)
    return _listed(before, kind) == _listed(after, kind)


def _contents(head: Head, key: str) -> tuple[object, object]:
    """A plain table and what is declared about it have the same key."""
    return head.tables.get(key), head.definitions.get(key)


def _listed(head: Head, kind: str) -> tuple[set[str], dict[str, str]]:
    prefix = f"{kind}:"
    tables = {key for key in head.tables if key.startswith(prefix)}
    return tables, {k: v for k, v in head.definitions.items() if k.startswith(prefix)}
