"""A query on its way: names resolved against pinned snapshots, rewritten, planned, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pyarrow as pa
from datafusion import DataFrame
from sqlglot import exp

from omnigraph.errors import OmniGraphError
from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog.pinned_snapshots import Moments, PinnedSnapshots
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession
from omnigraph_sql.datafusion.dialect import to_datafusion_sql
from omnigraph_sql.datafusion.error_translation import datafusion_errors
from omnigraph_sql.datafusion.result_stream import QueryExecution, plain_schema, reader, typed
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.parse_limits import too_deep
from omnigraph_sql.planning.constant_query import is_constant
from omnigraph_sql.planning.direct_scan import DirectScan, direct_scan
from omnigraph_sql.resolve.parameter_types import (
    BoundParameters,
    Params,
    bindings,
    parameter_schema,
)
from omnigraph_sql.resolve.projection_names import shown
from omnigraph_sql.resolve.rewrite_context import Read, RewriteContext
from omnigraph_sql.resolve.type_unification import needs_unification
from omnigraph_sql.rewrite import rewrite

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

_CLOCKS = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentDatetime,
    exp.Localtimestamp,
    exp.Systimestamp,
)


@dataclass(frozen=True)
class PlannedQuery:
    """A query that can be run: its plan, what it reads, and the schema in which its rows leave."""

    connection: Connection = field(repr=False)
    text: str
    """The statement as the engine reads it."""
    parameters: pa.Schema
    untyped: tuple[int, ...]
    """The numbers of the parameters whose type no place tells."""
    plan: DataFrame = field(repr=False)
    """With parameters, a plan of nulls: it knows the schema and is never run."""
    schema: pa.Schema
    moments: Moments
    pins: PinnedSnapshots = field(repr=False)
    calls_with_parameters: bool
    """Whether table functions need values before there is a plan."""
    lasting: bool
    """Whether the plan gives the right answer again while the moments stay."""
    tree: exp.Expr = field(repr=False)
    """As it was rewritten."""
    written: exp.Expr = field(repr=False)
    tables: tuple[ReadableTable, ...] = field(repr=False)
    """The stored tables it reads."""
    reads: tuple[Read, ...] = field(repr=False)
    """How it reads them."""
    direct: DirectScan | None = field(repr=False)
    """The scan that answers it, where no engine is needed."""

    @cached_property
    def constant(self) -> pa.Table | None:
        """The one row of a query that is nothing but literals; made once."""
        if not self.lasting or not is_constant(self.tree):
            return None
        with datafusion_errors():
            return typed(self.schema, self.plan.to_arrow_table())

    def single_row(self, params: Params) -> pa.Table | None:
        """A row that takes no time worth streaming: one of literals, or the one with an id."""
        if params is None and self.constant is not None:
            return self.constant
        if self.direct is None or (isinstance(params, pa.RecordBatch) and params.num_rows != 1):
            return None
        (values,) = bindings(self.parameters.names, params, self.parameters)
        with datafusion_errors():
            found = self.direct.find(values)
        return None if found is None else typed(self.schema, found)

    def run(self, params: Params, running: QueryExecution) -> pa.RecordBatchReader:
        """The rows, made while they are read; of each row of parameters, one after the other."""
        if (row := self.single_row(params)) is not None:
            return row.to_reader()
        bound = bindings(self.parameters.names, params, self.parameters)

        def batches() -> Iterator[pa.RecordBatch]:
            return chain.from_iterable(self._batches(values, running) for values in bound)

        return reader(self.schema, batches)

    def _batches(
        self, values: BoundParameters, running: QueryExecution
    ) -> Iterator[pa.RecordBatch]:
        with datafusion_errors():
            scanned = self.direct.open(values) if self.direct is not None else None
        if scanned is not None and self.direct is not None:
            return running.scanned(scanned, self.direct.columns)
        return running.batches(self._bound(values))

    def _bound(self, values: BoundParameters) -> DataFrame:
        if not values:
            return self.plan
        for one in self.reads:
            one.register(self.connection.engine)
        if self.calls_with_parameters:
            bound = plan_query(self.connection, self.written, self.pins, values=values)
            return self.connection.engine.plan(bound.text, values)
        return self.connection.engine.plan(self.text, values)


def plan_query(
    connection: Connection,
    tree: exp.Expr,
    pins: PinnedSnapshots,
    *,
    addresses_of: str | None = None,
    part: slice | None = None,
    prefix: str = "",
    values: BoundParameters | None = None,
    given: Mapping[str, ComputedRows] | None = None,
    params: Params = None,
) -> PlannedQuery:
    """Plan a query at pinned moments; `prefix` is EXPLAIN. The tree is not changed.

    With `params`, parameters that no place types have the types of these values.
    """
    scope = RewriteContext(
        pins,
        connection.schema,
        connection.dialect,
        connection.engine,
        connection.user,
        addresses_of=addresses_of,
        part=part,
        values=values,
        given=given or {},
        first_column=lambda query: _first_column(connection, query, pins),
        column_names=lambda query: list(plan_query(connection, query, pins).schema.names),
    )
    engine = connection.engine
    try:
        rewritten = rewrite(tree.copy(), scope)
        unsettled = not prefix and needs_unification(rewritten, scope)
        direct = None if prefix else direct_scan(rewritten, scope)
        reads = _registered(rewritten, scope, held=direct is None)
        text = prefix + to_datafusion_sql(rewritten)
        parameters = parameter_schema(rewritten, scope, params)
        nulls = {str(i): pa.scalar(None, f.type) for i, f in enumerate(parameters, 1)}
        plan = engine.plan(text, nulls)
    except RecursionError:
        raise too_deep() from None
    except OmniGraphError:
        deregister_all(engine, scope.temporary_names)
        raise
    schema = _columns(plan, engine, unsettled=unsettled)
    names = (scope.names if not prefix else None) or tuple(shown(n) for n in schema.names)
    lasting = scope.cacheable and part is None and rewritten.find(*_CLOCKS) is None
    planned = PlannedQuery(
        connection,
        text,
        parameters,
        scope.untyped,
        plan,
        plain_schema(schema, names),
        pins.moments(),
        pins,
        scope.calls_with_parameters,
        lasting,
        rewritten,
        tree,
        tuple(scope.tables),
        reads,
        direct,
    )
    # With parameters it is planned again for their values, so its temporary tables stay until then.
    finalize(planned, deregister_all, engine, scope.temporary_names)
    return planned


def _columns(plan: DataFrame, engine: DataFusionSession, *, unsettled: bool) -> pa.Schema:
    """The columns of a plan's rows.

    Before it is optimized, the engine takes the type of a CASE from its first branch and that of a
    UNION from its first side; what its parts agree on is known afterwards.
    """
    with datafusion_errors():
        schema = plan.schema()
        if not unsettled:
            return schema
        optimized = plan.optimized_logical_plan()
        settled = engine.context.create_dataframe_from_logical_plan(optimized).schema()
    return pa.schema(
        after.with_nullable(before.nullable or after.nullable)
        for before, after in zip(schema, settled, strict=True)
    )


def _registered(tree: exp.Expr, scope: RewriteContext, *, held: bool) -> tuple[Read, ...]:
    """Make the tables of a statement known to the engine; a scan by the store holds no rows."""
    reads = []
    for name, wanted in scope.reads.items():
        read = wanted if held else replace(wanted, held=False)
        read.register(scope.datafusion)
        reads.append(read)
        if read.name != name:
            for table in [found for found in tree.find_all(exp.Table) if found.name == name]:
                table.set("this", quoted(read.name))
    return tuple(reads)


def _first_column(connection: Connection, query: exp.Expr, pins: PinnedSnapshots) -> list[Any]:
    """What a query gives in its first column, in memory; for arguments of table functions."""
    found = plan_query(connection, query, pins).run(None, QueryExecution()).read_all()
    values: list[Any] = found.column(0).to_pylist()
    return values


def deregister_all(engine: DataFusionSession, temporary_names: list[str]) -> None:
    """Forget rows that were registered for one statement."""
    for name in temporary_names:
        engine.deregister(name)


def read(
    connection: Connection,
    tree: exp.Expr,
    params: Params = None,
    *,
    addresses_of: str | None = None,
) -> pa.RecordBatchReader:
    """The rows of a query tree in the session's names, at the session's moment.

    The table of the alias `addresses_of` has the column `_rowaddr` besides its own.
    """
    pins = connection.pins()
    planned = plan_query(connection, tree, pins, addresses_of=addresses_of, params=params)
    return planned.run(params, connection.start())
