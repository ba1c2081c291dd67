"""The plan of a query: names resolved against pinned snapshots, rewritten, planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from weakref import finalize

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import OmniGraphError
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession
from omnigraph_sql.datafusion.dialect import to_datafusion_sql
from omnigraph_sql.datafusion.result_stream import QueryExecution, plain_schema
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.parse_limits import too_deep
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.planning.direct_scan import direct_scan
from omnigraph_sql.planning.planned_query import PlannedQuery
from omnigraph_sql.resolve.parameter_types import BoundParameters, Params, parameter_schema
from omnigraph_sql.resolve.projection_names import shown
from omnigraph_sql.resolve.rewrite_context import Read, RewriteContext
from omnigraph_sql.resolve.type_unification import needs_unification
from omnigraph_sql.rewrite import rewrite

_CLOCKS = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentDatetime,
    exp.Localtimestamp,
    exp.Systimestamp,
)


def plan_query(
    session: SessionContext,
    tree: exp.Expr,
    pins: PinnedSnapshots,
    *,
    addresses_of: str | None = None,
    part: slice | None = None,
    prefix: str = "",
    values: BoundParameters | None = None,
    computed_rows: Mapping[str, ComputedRows] | None = None,
    params: Params = None,
) -> PlannedQuery:
    """Plan a query at pinned snapshots; `prefix` is EXPLAIN. The tree is not changed.

    With `params`, parameters whose type cannot be inferred have the types of these values.
    """

    def first_column(query: exp.Expr) -> list[Any]:
        rows = plan_query(session, query, pins).run(None, QueryExecution()).read_all()
        column: list[Any] = rows.column(0).to_pylist()
        return column

    def column_names(query: exp.Expr) -> list[str]:
        return list(plan_query(session, query, pins).schema.names)

    def replan(values: BoundParameters) -> PlannedQuery:
        return plan_query(session, tree, pins, values=values)

    datafusion = session.datafusion
    scope = RewriteContext(
        pins,
        session.schema,
        session.dialect,
        datafusion,
        session.user,
        addresses_of=addresses_of,
        part=part,
        values=values,
        computed_rows=computed_rows or {},
        first_column=first_column,
        column_names=column_names,
    )
    try:
        rewritten = rewrite(tree.copy(), scope)
        unify = not prefix and needs_unification(rewritten, scope)
        direct = None if prefix else direct_scan(rewritten, scope)
        reads = _register(rewritten, scope, cached=direct is None)
        text = prefix + to_datafusion_sql(rewritten)
        parameters = parameter_schema(rewritten, scope, params)
        nulls = {str(i): pa.scalar(None, f.type) for i, f in enumerate(parameters, 1)}
        plan = datafusion.plan(text, nulls)
    except RecursionError:
        raise too_deep() from None
    except OmniGraphError:
        _deregister_all(datafusion, scope.temporary_names)
        raise
    schema = plan.schema(unify=unify)
    names = (scope.names if not prefix else None) or tuple(shown(n) for n in schema.names)
    planned = PlannedQuery(
        datafusion,
        text,
        parameters,
        scope.untyped,
        plan,
        plain_schema(schema, names),
        pins,
        pins.moments(),
        replan if scope.calls_with_parameters else None,
        scope.cacheable and part is None and rewritten.find(*_CLOCKS) is None,
        rewritten,
        tuple(scope.tables),
        reads,
        direct,
    )
    # With parameters it is planned again for their values, so its temporary tables stay until then.
    finalize(planned, _deregister_all, datafusion, scope.temporary_names)
    return planned


def _register(tree: exp.Expr, scope: RewriteContext, *, cached: bool) -> tuple[Read, ...]:
    """Register the tables of a statement; for a scan by the store, no rows are cached."""
    reads = []
    for name, planned_read in scope.reads.items():
        read = planned_read if cached else replace(planned_read, cached=False)
        read.register(scope.datafusion)
        reads.append(read)
        if read.name != name:
            for table in [table for table in find_all(tree, exp.Table) if table.name == name]:
                table.set("this", quoted(read.name))
    return tuple(reads)


def _deregister_all(datafusion: DataFusionSession, temporary_names: list[str]) -> None:
    for name in temporary_names:
        datafusion.deregister(name)


def read(
    session: SessionContext,
    tree: exp.Expr,
    params: Params = None,
    *,
    addresses_of: str | None = None,
) -> pa.RecordBatchReader:
    """The rows of a query tree in the session's names, at the session's moment.

    The table of the alias `addresses_of` has the column `_rowaddr` besides its own.
    """
    planned = plan_query(session, tree, session.pins(), addresses_of=addresses_of, params=params)
    return planned.run(params, session.start())
