"""What tests of statements share: a session over a small graph, and its answers as plain values."""

from __future__ import annotations

from typing import Any

import omnigraph
import omnigraph_sql
from support.graphs import boats


class Session:
    """A connection whose results are lists of tuples, and the graph under it."""

    def __init__(self, root: str, **options: Any) -> None:  # noqa: ANN401
        self.graph: omnigraph.Graph = boats(root)
        self.connection = omnigraph_sql.connect(self.graph, user="ada", **options)

    def run(self, sql: str, params: Any = None) -> int:  # noqa: ANN401
        """A statement that writes; how many rows it changed."""
        changed = self.connection.execute(sql, params)
        assert isinstance(changed, int), f"{sql} gives rows"
        return changed

    def rows(self, sql: str, params: Any = None) -> list[tuple[Any, ...]]:  # noqa: ANN401
        """The rows of a query."""
        reader = self.connection.execute(sql, params)
        assert not isinstance(reader, int), f"{sql} gives no rows"
        columns = [column.to_pylist() for column in reader.read_all().columns]
        return list(zip(*columns, strict=True))

    def commits(self) -> int:
        """How many commits the branch of the session has."""
        return len(self.graph.commits(self.connection.catalog))
