"""A query that is planned: run any number of times, with other parameters each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog.pinned_snapshots import Moments, PinnedSnapshots
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession
from omnigraph_sql.datafusion.error_translation import datafusion_errors
from omnigraph_sql.datafusion.query_plan import QueryPlan
from omnigraph_sql.datafusion.result_stream import QueryExecution, reader, typed
from omnigraph_sql.planning.constant_query import is_constant
from omnigraph_sql.planning.direct_scan import DirectScan
from omnigraph_sql.resolve.parameter_types import BoundParameters, Params, bindings
from omnigraph_sql.resolve.rewrite_context import Read


@dataclass(frozen=True)
class PlannedQuery:
    """The plan of a query, what it reads, and the schema of its rows."""

    datafusion: DataFusionSession = field(repr=False)
    text: str
    """The statement as DataFusion reads it."""
    parameters: pa.Schema
    untyped: tuple[int, ...]
    """The numbers of the parameters whose type cannot be inferred."""
    plan: QueryPlan = field(repr=False)
    """With parameters, a plan of nulls: it knows the schema and is never run."""
    schema: pa.Schema
    pins: PinnedSnapshots = field(repr=False)
    """The snapshots it reads."""
    moments: Moments
    """Of the catalogs that had been pinned when it was planned."""
    replan: Callable[[BoundParameters], PlannedQuery] | None = field(repr=False)
    """Plans it for given parameters, where a table function needs their values."""
    cacheable: bool
    """Whether the plan gives the right answer again while the catalogs do not move."""
    tree: exp.Expr = field(repr=False)
    """As it was rewritten."""
    tables: tuple[ReadableTable, ...] = field(repr=False)
    """The stored tables it reads."""
    reads: tuple[Read, ...] = field(repr=False)
    """How it reads them."""
    direct: DirectScan | None = field(repr=False)
    """The scan by the store that answers it without DataFusion."""

    @cached_property
    def constant(self) -> pa.Table | None:
        """The one row of a query that is nothing but literals; computed once."""
        if not self.cacheable or not is_constant(self.tree):
            return None
        return typed(self.schema, self.plan.read_all())

    def single_row(self, params: Params) -> pa.Table | None:
        """A row that takes no time worth streaming: one of literals, or the one with an id."""
        if params is None and self.constant is not None:
            return self.constant
        if self.direct is None or (isinstance(params, pa.RecordBatch) and params.num_rows != 1):
            return None
        (values,) = bindings(self.parameters.names, params, self.parameters)
        with self.pins.reading(), datafusion_errors():
            row = self.direct.find(values)
        return None if row is None else typed(self.schema, row)

    def run(self, params: Params, execution: QueryExecution) -> pa.RecordBatchReader:
        """The rows, computed while they are read; for each row of parameters in turn."""
        if (row := self.single_row(params)) is not None:
            return row.to_reader()
        bound = bindings(self.parameters.names, params, self.parameters)
        return reader(self.schema, self._read(bound, execution))

    def _read(
        self, bound: Iterable[BoundParameters], execution: QueryExecution
    ) -> Iterator[pa.RecordBatch]:
        with self.pins.reading():
            for values in bound:
                yield from self._batches(values, execution)

    def _batches(
        self, values: BoundParameters, execution: QueryExecution
    ) -> Iterator[pa.RecordBatch]:
        if self.direct is not None:
            with datafusion_errors():
                rows = self.direct.open(values)
            if rows is not None:
                return execution.scanned(rows, self.direct.columns)
        return execution.batches(self._bound(values))

    def _bound(self, values: BoundParameters) -> QueryPlan:
        if not values:
            return self.plan
        for read in self.reads:
            read.register(self.datafusion)
        bound = self.replan(values) if self.replan is not None else self
        return self.datafusion.plan(bound.text, values)
