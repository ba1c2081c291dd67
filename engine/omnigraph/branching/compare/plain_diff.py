"""Plain tables and views that differ between two moments, each as a whole.

Their rows have no ids, so single ones cannot be paired. Rewriting equal rows in their order, as
compaction does, is no change.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph.branching.compare.row_equality import differing
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.plain_table import PREFIX
from omnigraph.storage.refs.moments import Moment
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import differing_rows, read_rows

_VIEW = "view:"


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
        elif not _same(store.tables, before, after, name):
            yield name, "update"


def _same(tables: TableStore, before: Moment, after: Moment, name: str) -> bool:
    for key in (PREFIX + name, _VIEW + name):
        if before.definitions.get(key) != after.definitions.get(key):
            return False
    old, new = before.tables.get(PREFIX + name), after.tables.get(PREFIX + name)
    if old is None or new is None:
        return old is new
    if (old.identity, old.rows) != (new.identity, new.rows):
        return False
    versions = old.address, new.address
    return versions[0] == versions[1] or _same_rows(tables, *versions)


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
