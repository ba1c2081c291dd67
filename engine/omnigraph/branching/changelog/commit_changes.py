"""What one commit changed, against its first parent.

The rules are docs/design/branching.md#5-commit-changes-and-feed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from omnigraph.branching.compare.change_counts import Stats, count_changes
from omnigraph.branching.compare.change_filter import Filter
from omnigraph.branching.compare.change_json_lines import change_lines
from omnigraph.branching.compare.change_rows import CHANGE_SCHEMA, change_batches
from omnigraph.branching.compare.snapshot_diff import PropertyValues
from omnigraph.branching.compare.type_pairs import Pair, TypeAtMoment, pair_changes, pairs
from omnigraph.errors import ParentlessCommit, SchemaBoundary
from omnigraph.schema import Catalog
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.storage.core.model import MAIN, Commit, to_micros
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import Moment


@dataclass(frozen=True, slots=True)
class Cause:
    """The commit behind some changes."""

    graph_commit_id: str
    parent_commit_id: str
    merged_parent_commit_id: str | None
    authored_branch: str | None
    """The branch it was made on; none for main."""
    actor_id: str | None
    authored_at: int
    """Microseconds since the epoch."""

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one entity; row states hold JSON values, as an export writes them."""

    kind: str
    type_id: int
    """The identity of the type, which survives renames."""
    type_name: str
    id: str
    op: str
    before: PropertyValues | None = None
    after: PropertyValues | None = None

    @classmethod
    def from_text(cls, text: str) -> Change:
        """The change that one line of JSON describes."""
        body = orjson.loads(text)
        type_ = body.pop("type")
        return cls(type_id=type_["id"], type_name=type_["name"], **body)

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": self.kind,
            "type": {"id": self.type_id, "name": self.type_name},
            "id": self.id,
            "op": self.op,
        }
        states = {"before": self.before, "after": self.after}
        return body | {name: state for name, state in states.items() if state is not None}


@dataclass(frozen=True)
class CommitChanges:
    """The changes of one commit, in order: nodes before edges, then by type identity, then by id.

    Read lazily, and again on each use. Names are those of the commit's own schema, so that a
    commit reads the same for ever.
    """

    cause: Cause
    _pairs: tuple[Pair, ...] = field(repr=False)
    _filter: Filter = field(repr=False)
    _store: GraphStore = field(repr=False)

    def __iter__(self) -> Iterator[Change]:
        for text in self.texts():
            yield Change.from_text(text)

    def texts(self) -> Iterator[str]:
        """Every change as one line of JSON."""
        for batch in self.batches():
            yield from change_lines(batch).to_pylist()

    def reader(self) -> pa.RecordBatchReader:
        """The changes as a stream of batches; row states are JSON texts."""
        return pa.RecordBatchReader.from_batches(CHANGE_SCHEMA, self.batches())

    def batches(self, after: tuple[bool, int] | None = None) -> Iterator[pa.RecordBatch]:
        """The changes as batches of bounded size; `after` leaves out the types before its order."""
        for pair in self._pairs:
            if after is not None and pair.order < after:
                continue
            for changes in pair_changes(self._store, pair):
                yield from change_batches(changes, pair.type.name, self._filter.ops)

    def stats(self) -> Stats:
        """Counts per operation, and the types that are affected."""
        return count_changes(self._store, self._pairs, self._filter)

    def to_json(self) -> dict[str, Any]:
        """The whole block; for commits that are known to be small."""
        return {"cause": self.cause.to_json(), "changes": [each.to_json() for each in self]}


def commit_changes(
    store: GraphStore, commit: Commit, before: Moment, after: Moment, filter_: Filter | None = None
) -> CommitChanges:
    """What a commit changed between its first parent's moment and its own."""
    today = store.catalog(after.reading_schema)
    types = pairs(store, before, after, Catalog())
    _refuse_boundary(commit, before, after, types)
    filter_ = filter_ or Filter()
    admitted = (pair for pair in types if filter_.admits(pair.type.kind, *_names(pair, today)))
    return CommitChanges(cause_of(commit), tuple(admitted), filter_, store)


def require_parent(commit: Commit) -> str:
    """The first parent of a commit; the commit that created the graph has none."""
    if commit.parent is None:
        raise ParentlessCommit(commit.id)
    return commit.parent


def cause_of(commit: Commit) -> Cause:
    """A commit as the cause of changes."""
    return Cause(
        commit.id,
        require_parent(commit),
        commit.merged_parent,
        None if commit.branch == MAIN else commit.branch,
        commit.actor,
        to_micros(commit.time),
    )


def _names(pair: Pair, today: Catalog) -> tuple[str, ...]:
    """What a filter may call a type: its name in the commit, and its name today."""
    now = today.by_identity(pair.type.identity)
    return (pair.type.name, now.name) if now else (pair.type.name,)


def _refuse_boundary(commit: Commit, before: Moment, after: Moment, types: list[Pair]) -> None:
    """Refuse a commit that gave rows other properties, or the same ones under other names."""
    if before.schema == after.schema:
        return
    changed = [
        pair.type.name
        for pair in types
        if any(side is not None and side.pointer.rows for side in (pair.before, pair.after))
        and _columns(pair.before) != _columns(pair.after)
    ]
    if changed:
        raise SchemaBoundary(commit.id, require_parent(commit), changed)


def _columns(side: TypeAtMoment | None) -> tuple[object, ...] | None:
    if side is None:
        return None
    return tuple((p.identity, p.name, arrow_type(p.type)) for p in side.type.properties)
