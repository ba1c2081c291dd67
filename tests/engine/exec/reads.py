"""Running one read in a test."""

from __future__ import annotations

from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.run.query_result import QueryResult
from omnigraph.exec.run.run_read import run_read
from omnigraph.query import compile_query


def read(
    graph: Graph,
    body: str,
    params: dict[str, Any] | None = None,
    *,
    declare: str = "",
    context: ExecContext | None = None,
    at: str = "main",
) -> QueryResult:
    """The result of `query q(<declare>) { <body> }`."""
    snapshot = graph.snapshot(at)
    query = compile_query(f"query q({declare}) {{ {body} }}", snapshot.catalog)
    return run_read(snapshot, query, params, context=context or ExecContext())


def values(result: QueryResult) -> list[Any]:
    """The rows as tuples, or the values of the one column."""
    columns = [column.to_pylist() for column in result.to_arrow().columns]
    rows = list(zip(*columns, strict=True))
    return [row[0] for row in rows] if len(columns) == 1 else rows
