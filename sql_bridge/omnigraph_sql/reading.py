"""A query on its way: names resolved against pinned snapshots, rewritten, planned, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from datafusion import DataFrame
from sqlglot import exp

from omnigraph_sql.datafusion_dialect import to_engine
from omnigraph_sql.failures import engine_failures
from omnigraph_sql.parsing import too_deep
from omnigraph_sql.rewriting import rewrite
from omnigraph_sql.rewriting.name_results import shown
from omnigraph_sql.rewriting.scope import Scope
from omnigraph_sql.streams import Running, plain_schema, reader

if TYPE_CHECKING:
    from omnigraph_sql.connection import Connection


@dataclass(frozen=True)
class Planned:
    """A query that can be run: its plan, and the schema in which its rows leave."""

    plan: DataFrame = field(repr=False)
    schema: pa.Schema

    def run(self, running: Running) -> pa.RecordBatchReader:
        """The rows, made while they are read."""

        def batches() -> Iterator[pa.RecordBatch]:
            return running.batches(self.plan)

        return reader(self.schema, batches)


def read(
    connection: Connection,
    tree: exp.Expr,
    params: object = None,
    *,
    addresses_of: str | None = None,
) -> pa.RecordBatchReader:
    """The rows of a query tree in the session's names, at the session's moment.

    The table of the alias `addresses_of` has the column `_rowaddr` besides its own. The tree is
    not changed.
    """
    planned = plan(connection, tree, addresses_of=addresses_of)
    return planned.run(connection.start())


def plan(connection: Connection, tree: exp.Expr, *, addresses_of: str | None = None) -> Planned:
    """Plan a query at the newest state of its catalogs."""
    scope = Scope(
        connection.pins(),
        connection.schema,
        connection.dialect,
        connection.engine,
        addresses_of=addresses_of,
    )
    try:
        text = to_engine(rewrite(tree.copy(), scope))
    except RecursionError:
        raise too_deep() from None
    try:
        found = connection.engine.plan(text)
    finally:
        for name in scope.lent:
            connection.engine.take_back(name)
    with engine_failures():
        schema = found.schema()
    names = scope.names or tuple(shown(name) for name in schema.names)
    return Planned(found, plain_schema(schema, names))
