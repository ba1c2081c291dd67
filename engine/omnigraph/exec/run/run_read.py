"""Runs a compiled read: match, then group or rank, order, limit and project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.evaluate.sort_keys import SortKey, SortOrder, sorted_indices
from omnigraph.exec.graph.bindings import CHUNK, Bindings
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.graph.index_view import IndexedView, LookupBudgetExceeded
from omnigraph.exec.plan.access_path import choose_access_path, lookup_tables
from omnigraph.exec.plan.plan_read import factorized_tree, follows_edges, match_plan
from omnigraph.exec.run.aggregate import Grouper
from omnigraph.exec.run.external_sort import first_rows, in_order
from omnigraph.exec.run.factorized_aggregate import FactorizedAggregate
from omnigraph.exec.run.matcher import Matcher
from omnigraph.exec.run.query_result import QueryResult
from omnigraph.exec.run.ranking import Ranker
from omnigraph.query.compile import CompiledQuery
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.query.logical.result_schema import result_schema
from omnigraph.query.params import coerce_params
from omnigraph.storage.core.read_errors import batch_of, translated, translating
from omnigraph.storage.refs.snapshot import Snapshot


def run_read(
    snapshot: Snapshot,
    query: CompiledQuery,
    params: Mapping[str, Any] | None,
    *,
    context: ExecContext,
) -> QueryResult:
    """The rows of a read at a snapshot. Parameters are checked at once, rows are made when read.

    `params` are JSON values by name, as
    docs/design/query-language.md#2-parameters takes them.
    """
    plan = query.ir
    if not isinstance(plan, ReadPlan):
        raise InvalidInput(
            f"{query.name} changes the graph and cannot run as a read",
            hint="Run it as a mutation.",
        )
    values = coerce_params(query, params)
    # A remembered plan does not look at all of them again.
    snapshot.note_reads(f"{fact.kind}:{fact.type_name}" for fact in query.descriptor.reads)
    schema: pa.Schema = context.planned(plan, "schema", lambda: result_schema(plan))
    now = datetime.now(UTC)

    def batches() -> Iterator[pa.RecordBatch]:
        with translating(snapshot.explained):
            found = _routed(GraphView(snapshot, context), plan, values, now, schema)
        return translated(found, snapshot.explained)

    return QueryResult(schema, snapshot.commit, query.name, snapshot.branch, batches)


def _routed(
    view: GraphView, plan: ReadPlan, values: Mapping[str, Any], now: datetime, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    steps = match_plan(view, plan)
    route = choose_access_path(view, plan, steps)
    if route.strategy == "csr":
        return batches_of(Evaluator(view, values, now), plan, schema)
    indexed = IndexedView(view.snapshot, view.context, route.limit)
    found = batches_of(Evaluator(indexed, values, now), plan, schema)
    if route.limit is None:
        return found
    try:
        whole = list(found)
    except LookupBudgetExceeded:
        return batches_of(Evaluator(view, values, now), plan, schema)
    for table in lookup_tables(view, steps):
        view.context.count_indexed_read(table.version)
    return iter(whole)


def batches_of(evaluator: Evaluator, plan: ReadPlan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The result of a read, evaluated over one view."""
    evaluator = evaluator.within(plan.pattern.variables)
    evaluator.view.numbered = follows_edges(plan.pattern)
    if plan.group_by is not None:
        return _aggregated(evaluator, plan, schema)
    return _projected(evaluator, plan, schema, _ordered(evaluator, plan))


def _ordered(evaluator: Evaluator, plan: ReadPlan) -> Iterator[Bindings]:
    rows = Matcher(evaluator, match_plan(evaluator.view, plan)).run()
    if not plan.order and plan.rank is None:
        return rows if plan.limit is None else first_rows(rows, plan.limit)
    keys = []
    for key in plan.order:
        expr = plan.columns[key.by].expr if isinstance(key.by, int) else key.by
        keys.append(SortKey(partial(evaluator.column, expr), key.descending))
    if plan.rank is not None:
        ranker = Ranker(evaluator, plan, keys)
        for part in rows:
            ranker.add(part)
        return ranker.finish().chunks()
    ties = [
        (name, evaluator.view.entities(plan.pattern.variables[name])) for name in plan.tie_break
    ]
    return in_order(rows, SortOrder(keys, ties), plan.limit)


def _projected(
    evaluator: Evaluator, plan: ReadPlan, schema: pa.Schema, rows: Iterator[Bindings]
) -> Iterator[pa.RecordBatch]:
    for part in rows:
        if part.count:
            columns = [evaluator.column(column.expr, part) for column in plan.columns]
            yield batch_of(columns, schema)


def _aggregated(
    evaluator: Evaluator, plan: ReadPlan, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    columns = _groups(evaluator, plan)
    rows = len(columns[0])
    if plan.order or plan.limit is not None:
        columns = _ordered_groups(plan, columns, rows)
    whole = batch_of(columns, schema)
    for start in range(0, whole.num_rows, CHUNK):
        yield whole.slice(start, CHUNK)


def _groups(evaluator: Evaluator, plan: ReadPlan) -> list[pa.Array]:
    steps, tree = match_plan(evaluator.view, plan), factorized_tree(evaluator.view, plan)
    if tree is not None and not isinstance(evaluator.view, IndexedView):
        return FactorizedAggregate(evaluator, plan, tree, steps).columns()
    grouper = Grouper(evaluator, plan)
    for rows in Matcher(evaluator, steps).run():
        if rows.count:
            grouper.add(rows)
    return grouper.finish()


def _ordered_groups(plan: ReadPlan, columns: list[pa.Array], rows: int) -> list[pa.Array]:
    assert plan.group_by is not None
    keys = []
    for key in plan.order:
        assert isinstance(key.by, int)
        keys.append((columns[key.by], key.descending))
    # Group keys make the order total; they are not the subject of a limit on their own.
    keys += [(columns[i], False) for i in plan.group_by if plan.order]
    indices = sorted_indices(keys, (), rows, plan.limit)
    return [column.take(pa.array(indices)) for column in columns]
