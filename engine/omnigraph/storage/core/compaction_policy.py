"""When to compact small fragments into one: a pure decision, shared by tables and the manifest.

Every small write adds a fragment. Fragments are sorted into tiers by size; when a tier is full, its
fragments become one fragment of the next tier. A table of n small writes thus has O(log n) small
fragments, and each row is rewritten O(log n) times.
"""

from __future__ import annotations

from collections.abc import Mapping

FANOUT = 8
TIERS = (64, 512, 4096)
"""Fragments with fewer rows than the last limit are small; larger ones are left to `optimize`."""


def tier(rows: int) -> int | None:
    """The tier of a fragment, none when it is not small."""
    for level, limit in enumerate(TIERS):
        if rows < limit:
            return level
    return None


def choose_compaction(rows_by_fragment: Mapping[int, int]) -> list[int]:
    """Fragments that the next write should compact into its own new one."""
    tiers: dict[int, list[int]] = {}
    for fragment_id, rows in rows_by_fragment.items():
        level = tier(rows)
        if level is not None:
            tiers.setdefault(level, []).append(fragment_id)
    full = [level for level, members in tiers.items() if len(members) >= FANOUT]
    return sorted(i for level in tiers if full and level <= max(full) for i in tiers[level])
