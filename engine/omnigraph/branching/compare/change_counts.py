"""How many entities changed, and of which types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from omnigraph.branching.compare.change_filter import Filter
from omnigraph.branching.compare.type_pairs import Pair, pair_changes
from omnigraph.storage.graph_store import GraphStore


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts per operation, and the types that are affected."""

    inserts: int
    updates: int
    deletes: int
    types: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"types": list(self.types)}


def count_changes(
    store: GraphStore,
    pairs: Iterable[Pair],
    filter_: Filter,
    plain: Iterable[tuple[str, str]] = (),
) -> Stats:
    """Count what differs of some types; plain tables, given with their operation, count as one."""
    counts: Counter[str] = Counter()
    types: dict[str, None] = {}
    for pair in pairs:
        for changes in pair_changes(store, pair):
            by_op = {op: n for op, n in changes.counts().items() if n and filter_.admits_op(op)}
            counts.update(by_op)
            if by_op:
                types[pair.name] = None
    for name, op in plain:
        counts[op] += 1
        types[name] = None
    return Stats(counts["insert"], counts["update"], counts["delete"], tuple(types))
