"""The schema `system`: branches, tags, commits, stored queries and table versions, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from omnigraph import Graph, Snapshot
from omnigraph_sql.catalog.information_schema import CatalogRow
from omnigraph_sql.datafusion.computed_table import ComputedRows

_TEXT, _NUMBER, _INSTANT = pa.string(), pa.int64(), pa.timestamp("us", "UTC")


def _branches(graph: Graph, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for branch in graph.branches():
        yield {
            "name": branch.name,
            "commit_id": branch.commit,
            "version": branch.version,
            "forked_from": branch.fork,
            "is_current": branch.name == snapshot.branch,
        }


def _tags(graph: Graph, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for tag in graph.tags.list():
        yield {
            "name": tag.name,
            "commit_id": tag.commit,
            "branch": tag.branch,
            "created_at": tag.time,
        }


def _commits(graph: Graph, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for commit in graph.commits(snapshot.branch):
        if commit.version <= snapshot.version:
            yield {
                "commit_id": commit.id,
                "version": commit.version,
                "branch": commit.branch,
                "parent_id": commit.parent,
                "merged_parent_id": commit.merged_parent,
                "actor": commit.actor,
                "created_at": commit.time,
                "message": commit.message,
                "changed": list(commit.changed),
            }


def _table_versions(graph: Graph, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for key, pointer in sorted(snapshot.moment.tables.items()):
        yield {
            "table_key": key,
            "version": pointer.version,
            "row_count": pointer.rows,
            "location": pointer.location,
            "lance_version": pointer.lance,
        }


def _queries(graph: Graph, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for name, definition in snapshot.definitions("query").items():
        yield {"name": name, "source": definition.text}


SystemRows = Callable[[Graph, Snapshot], Iterator[CatalogRow]]
TABLES: Mapping[str, tuple[pa.Schema, SystemRows]] = {
    "branches": (
        pa.schema(
            {
                "name": _TEXT,
                "commit_id": _TEXT,
                "version": _NUMBER,
                "forked_from": _TEXT,
                "is_current": pa.bool_(),
            }
        ),
        _branches,
    ),
    "tags": (
        pa.schema({"name": _TEXT, "commit_id": _TEXT, "branch": _TEXT, "created_at": _INSTANT}),
        _tags,
    ),
    "commits": (
        pa.schema(
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
            }
        ),
        _commits,
    ),
    "table_versions": (
        pa.schema(
            {
                "table_key": _TEXT,
                "version": _NUMBER,
                "row_count": _NUMBER,
                "location": _TEXT,
                "lance_version": pa.uint64(),
            }
        ),
        _table_versions,
    ),
    "queries": (pa.schema({"name": _TEXT, "source": _TEXT}), _queries),
}


def system_rows(name: str, graph: Graph, snapshot: Snapshot) -> ComputedRows:
    """One of the tables, as of a snapshot."""
    schema, rows = TABLES[name]
    return ComputedRows.of_dicts(schema, lambda: rows(graph, snapshot))
