"""Everything that a graph shows, as a value that can be compared and kept in a file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa

from omnigraph.api.graph import Graph

State = dict[str, Any]


def state_of(graph: Graph) -> State:
    """All branches with their rows, tables, queries and protection, and what tags name."""
    places = {f"branch {branch.name}": branch.name for branch in graph.branches()}
    places |= {f"tag {tag.name}": tag.name for tag in graph.tags.list()}
    shown: State = {label: _moment(graph, at) for label, at in places.items()}
    shown["protected"] = [branch.name for branch in graph.branches() if branch.protected]
    kept: State = json.loads(json.dumps(shown, default=str))
    return kept


def _moment(graph: Graph, at: str) -> State:
    snapshot = graph.snapshot(at)
    rows = {type_.name: snapshot.scan(type_.name).read_all() for type_ in snapshot.types()}
    rows |= {table.name: table.scan().read_all() for table in snapshot.plain_tables()}
    return {
        "schema": graph.schema(at).source,
        "queries": [query.name for query in graph.queries(at)],
        "rows": {name: _digest(table) for name, table in rows.items()},
    }


def _digest(rows: pa.Table) -> str:
    """Stands for the rows of a table in any order."""
    lines = sorted(json.dumps(row, default=str, sort_keys=True) for row in rows.to_pylist())
    return f"{len(lines)} rows, {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:16]}"
