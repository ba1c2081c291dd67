"""What one commit changed, against its first parent (branching.md §5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from omnigraph.branching.compare.change_counts import Stats, count_changes
from omnigraph.branching.compare.change_filter import Filter
from omnigraph.branching.compare.change_json_lines import change_lines
from omnigraph.branching.compare.change_rows import CHANGE_SCHEMA, entry_batches
from omnigraph.branching.compare.snapshot_diff import PropertyValues
from omnigraph.branching.compare.type_pairs import Pair, pair_changes, pairs
from omnigraph.errors import ParentlessCommit, SchemaBoundary
from omnigraph.schema import Catalog
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.catalog import GraphType
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
        body = {
            "graph_commit_id": self.graph_commit_id,
            "parent_commit_id": self.parent_commit_id,
            "merged_parent_commit_id": self.merged_parent_commit_id,
            "authored_branch": self.authored_branch,
            "actor_id": self.actor_id,
            "authored_at": self.authored_at,
        }
        return {name: value for name, value in body.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one entity; images hold JSON values, as an export writes them."""

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
        images = {"before": self.before, "after": self.after}
        return body | {name: image for name, image in images.items() if image is not None}


@dataclass(frozen=True)
class CommitChanges:
    """The changes of one commit, in order: nodes before edges, then by type identity, then by id.

    Nothing is read until it is asked for; asking again reads again. Names are those of the
    commit's own schema, so that a commit reads the same for ever.
    """

    cause: Cause
    _pairs: tuple[Pair, ...] = field(repr=False)
    _wanted: Filter = field(repr=False)
    _store: GraphStore = field(repr=False)

    def __iter__(self) -> Iterator[Change]:
        for text in self.texts():
            yield Change.from_text(text)

    def texts(self) -> Iterator[str]:
        """Every change as one line of JSON."""
        for batch in self.batches():
            yield from change_lines(batch).to_pylist()

    def reader(self) -> pa.RecordBatchReader:
        """The changes as a stream of batches; images are JSON texts."""
        return pa.RecordBatchReader.from_batches(CHANGE_SCHEMA, self.batches())

    def batches(self, after: tuple[bool, int] | None = None) -> Iterator[pa.RecordBatch]:
        """The changes as batches of bounded size; `after` leaves out the types before its order."""
        for pair in self._pairs:
            if after is not None and pair.order < after:
                continue
            for changes in pair_changes(self._store, pair):
                yield from entry_batches(changes, pair.type.name, self._wanted.ops)

    def stats(self) -> Stats:
        """Counts per operation, and the types that are affected."""
        return count_changes(self._store, self._pairs, self._wanted)

    def to_json(self) -> dict[str, Any]:
        """The whole block; for commits that are known to be small."""
        return {"cause": self.cause.to_json(), "changes": [each.to_json() for each in self]}


def commit_changes(
    store: GraphStore, commit: Commit, before: Moment, after: Moment, wanted: Filter | None = None
) -> CommitChanges:
    """What a commit changed between its first parent's moment and its own."""
    today = store.catalog(after.reading_schema)
    found = pairs(store, before, after, Catalog())
    _refuse_boundary(commit, before, after, found)
    asked = wanted or Filter()
    admitted = (pair for pair in found if asked.admits(pair.type.kind, *_names(pair, today)))
    return CommitChanges(cause_of(commit), tuple(admitted), asked, store)


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
    """What a type may be asked for by: its name in the commit, and what it is called today."""
    now = today.by_identity(pair.type.identity)
    return (pair.type.name, now.name) if now else (pair.type.name,)


def _refuse_boundary(commit: Commit, before: Moment, after: Moment, found: list[Pair]) -> None:
    if before.schema == after.schema:
        return
    split = [pair.type.name for pair in found if _holds_data(pair) and not _same_shape(pair)]
    if split:
        raise SchemaBoundary(commit.id, require_parent(commit), split)


def _holds_data(pair: Pair) -> bool:
    return any(side is not None and side.pointer.rows for side in (pair.before, pair.after))


def _same_shape(pair: Pair) -> bool:
    """Whether images of both sides have the same properties under the same names."""
    if pair.before is None or pair.after is None:
        return False
    return _shape(pair.before.type) == _shape(pair.after.type)


def _shape(type_: GraphType) -> tuple[object, ...]:
    return tuple((p.identity, p.name, arrow_type(p.type)) for p in type_.properties)
