"""Plain tables and views that differ between two moments, each as a whole.

Their rows have no ids, so single ones cannot be paired. Rewriting equal rows in their order, as
compaction does, is no change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.branching.compare.row_equality import differing
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.plain_table import PREFIX
from omnigraph.storage.refs.moments import Moment
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import differing_rows, read_rows

_VIEW = "view:"


@dataclass(frozen=True, slots=True)
class _State:
    """What a moment has under one name: the table or the view, and what was declared."""

    pointer: TablePointer | None
    declared: str | None
    view: str | None


def plain_names(moment: Moment) -> set[str]:
    """The names of the plain tables and views of a moment."""
    views = {key.removeprefix(_VIEW) for key in moment.definitions if key.startswith(_VIEW)}
    return views | {key.removeprefix(PREFIX) for key in moment.tables if key.startswith(PREFIX)}


def plain_changes(store: GraphStore, before: Moment, after: Moment) -> Iterator[tuple[str, str]]:
    """Names of plain tables and views that differ, in order, and what became of each."""
    old, new = plain_names(before), plain_names(after)
    for name in sorted(old | new):
        if name not in old:
            yield name, "insert"
        elif name not in new:
            yield name, "delete"
        elif not _same(store.tables, _state(before, name), _state(after, name)):
            yield name, "update"


def _state(moment: Moment, name: str) -> _State:
    return _State(
        moment.tables.get(PREFIX + name),
        moment.definitions.get(PREFIX + name),
        moment.definitions.get(_VIEW + name),
    )


def _same(tables: TableStore, old: _State, new: _State) -> bool:
    if (old.declared, old.view) != (new.declared, new.view):
        return False
    if old.pointer is None or new.pointer is None:
        return old.pointer is new.pointer
    if (old.pointer.identity, old.pointer.rows) != (new.pointer.identity, new.pointer.rows):
        return False
    before, after = old.pointer.address, new.pointer.address
    return before == after or _same_rows(tables, before, after)


def _same_rows(tables: TableStore, before: TableVersion, after: TableVersion) -> bool:
    """Whether the rows that the versions do not share are equal, one after the other."""
    schema = tables.schema(before)
    if not schema.equals(tables.schema(after)):
        return False
    old, new = differing_rows(tables, before, after)
    if old.rows != new.rows:
        return False
    left = read_rows(tables, old, schema.names)
    right = read_rows(tables, new, schema.names)
    return not any(differing(*part).any() for part in _aligned(left, right))


def _aligned(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Two streams of as many rows, cut at the same rows."""
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        size = min(one.num_rows, other.num_rows)
        yield pa.table(one.slice(0, size)), pa.table(other.slice(0, size))
        one = one.slice(size) if size < one.num_rows else next(left, None)
        other = other.slice(size) if size < other.num_rows else next(right, None)
