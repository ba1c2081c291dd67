"""The schema `system`: branches, tags, commits, stored queries and table versions, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from omnigraph import Graph, Snapshot
from omnigraph_sql.datafusion.computed_table import ComputedRows

_TEXT, _NUMBER, _INSTANT = pa.string(), pa.int64(), pa.timestamp("us", "UTC")

SystemRows = Callable[[Graph, Snapshot], Iterable[tuple[Any, ...]]]
TABLES: Mapping[str, tuple[dict[str, pa.DataType], SystemRows]] = {
    "branches": (
        {
            "name": _TEXT,
            "commit_id": _TEXT,
            "version": _NUMBER,
            "forked_from": _TEXT,
            "is_current": pa.bool_(),
        },
        lambda graph, snapshot: (
            (
                branch.name,
                branch.commit,
                branch.version,
                branch.fork,
                branch.name == snapshot.branch,
            )
            for branch in graph.branches()
        ),
    ),
    "tags": (
        {"name": _TEXT, "commit_id": _TEXT, "branch": _TEXT, "created_at": _INSTANT},
        lambda graph, _: ((t.name, t.commit, t.branch, t.time) for t in graph.tags.list()),
    ),
    "commits": (
        {
            "commit_id": _TEXT,
            "version": _NUMBER,
            "branch": _TEXT,
            "parent_id": _TEXT,
            "merged_parent_id": _TEXT,
            "actor": _TEXT,
            "created_at": _INSTANT,
            "message": _TEXT,
            "changed": pa.list_(_TEXT),
        },
        lambda graph, snapshot: (
            (c.id, c.version, c.branch, c.parent, c.merged_parent, c.actor, c.time, c.message)
            + (list(c.changed),)
            for c in graph.commits(snapshot.branch)
            if c.version <= snapshot.version
        ),
    ),
    "table_versions": (
        {
            "table_key": _TEXT,
            "version": _NUMBER,
            "row_count": _NUMBER,
            "location": _TEXT,
            "lance_version": pa.uint64(),
        },
        lambda _, snapshot: (
            (key, table.version, table.rows, table.location, table.lance)
            for key, table in sorted(snapshot.moment.tables.items())
        ),
    ),
    "queries": (
        {"name": _TEXT, "source": _TEXT},
        lambda _, snapshot: ((n, d.text) for n, d in snapshot.definitions("query").items()),
    ),
}


def system_rows(name: str, graph: Graph, snapshot: Snapshot) -> ComputedRows:
    """One of the tables, as of a snapshot."""
    columns, rows = TABLES[name]
    snapshot.note_reads_of_all()
    return ComputedRows.of_tuples(pa.schema(columns), lambda: rows(graph, snapshot))
