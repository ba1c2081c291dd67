"""The net difference between two moments, entity by entity.

The rules are docs/design/branching.md#4-diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from omnigraph.branching.compare.change_counts import Stats, count_changes
from omnigraph.branching.compare.change_filter import Filter, names_type
from omnigraph.branching.compare.change_rows import CHANGE_SCHEMA, change_batches, plain_batch
from omnigraph.branching.compare.plain_diff import plain_changes, plain_names
from omnigraph.branching.compare.table_diff import Changes
from omnigraph.branching.compare.type_pairs import Pair, pair_changes, pairs
from omnigraph.errors import NotFound, did_you_mean
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import Moment

PropertyValues = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DiffEntry:
    """How one entity differs; row states hold JSON values, as an export writes them."""

    kind: str
    type_name: str
    id: str
    op: str
    endpoints: dict[str, str] | None = None
    """`src` and `dst` of an edge, as they are after, or were before if it was deleted."""
    before: PropertyValues | None = None
    after: PropertyValues | None = None

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Diff:
    """The difference between two fixed moments.

    Read lazily, and again on each use. Entries come nodes first, then edges, then plain tables; by
    type identity, then by id. Types and properties carry the names that they have today on the
    branch of `to`, or had last if they were dropped.
    """

    before: Moment
    after: Moment
    wanted: Filter
    _store: GraphStore = field(repr=False)

    def __iter__(self) -> Iterator[DiffEntry]:
        for row in (row for batch in self.batches() for row in batch.to_pylist()):
            yield DiffEntry(
                row["kind"],
                row["type_name"],
                row["id"],
                row["op"],
                {"src": row["src"], "dst": row["dst"]} if row["src"] is not None else None,
                orjson.loads(row["before"]) if row["before"] is not None else None,
                orjson.loads(row["after"]) if row["after"] is not None else None,
            )

    def reader(self) -> pa.RecordBatchReader:
        """The entries as a stream of batches; row states are JSON texts."""
        return pa.RecordBatchReader.from_batches(CHANGE_SCHEMA, self.batches())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The entries as batches of bounded size."""
        for pair in self._pairs():
            for changes in pair_changes(self._store, pair):
                yield from change_batches(changes, pair.name, self.wanted.ops)
        plain = self._plain()
        if plain:
            yield plain_batch(plain)

    def changes(self) -> Iterator[Changes]:
        """The same of nodes and edges as typed Arrow tables, one type after the other.

        The filter by operation is not applied: each part holds all three in tables of their own.
        """
        for pair in self._pairs():
            yield from pair_changes(self._store, pair)

    def stats(self) -> Stats:
        """Counts per operation, and the types that are affected."""
        return count_changes(self._store, self._pairs(), self.wanted, self._plain())

    def _pairs(self) -> list[Pair]:
        today = self._store.catalog(self.after.reading_schema)
        types = pairs(self._store, self.before, self.after, today)
        return [pair for pair in types if self.wanted.admits(pair.type.kind, *pair.names)]

    def _plain(self) -> list[tuple[str, str]]:
        return [
            (name, op)
            for name, op in plain_changes(self._store, self.before, self.after)
            if self.wanted.admits("table", name) and self.wanted.admits_op(op)
        ]


def diff(store: GraphStore, before: Moment, after: Moment, filter_: Filter) -> Diff:
    """The difference between two moments; a type name in the filter must mean something."""
    today = store.catalog(after.reading_schema)
    named: list[tuple[str, tuple[str, ...]]] = [
        (pair.type.kind, pair.names) for pair in pairs(store, before, after, today)
    ]
    named += [("table", (name,)) for name in sorted(plain_names(before) | plain_names(after))]
    for name in sorted(filter_.types or ()):
        if not any(names_type(name, kind, *names) for kind, names in named):
            known = sorted({each for _, names in named for each in names})
            raise NotFound(
                f"no type {name!r}{did_you_mean(name, known)} at either moment",
                hint=f"The types are {', '.join(known)}." if known else "Neither has any type.",
            )
    return Diff(before, after, filter_, store)
