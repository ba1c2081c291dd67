"""A read explained: its access path, its steps, and on request what each of them cost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any

from omnigraph.errors import InvalidInput
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.evaluate.step_costs import Trace, rows_shown
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.graph.index_view import IndexedView
from omnigraph.exec.plan import plan_read
from omnigraph.exec.plan.access_path import AccessPath, choose_access_path
from omnigraph.exec.plan.filter_pushdown import pushable
from omnigraph.exec.plan.match_plan import (
    AntiJoinStep,
    ExpandIntoStep,
    ExpandStep,
    FilterStep,
    MatchPlan,
    MatchStep,
    ScanStep,
)
from omnigraph.exec.run import run_read
from omnigraph.query.compile import CompiledQuery
from omnigraph.query.logical.expression_walk import key_lookup
from omnigraph.query.logical.expressions import (
    Aggregate,
    Bm25,
    Compare,
    Condition,
    Contains,
    Expr,
    Literal,
    Membership,
    Nearest,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    StartsWith,
    TextMatch,
)
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.query.logical.result_schema import result_schema
from omnigraph.query.params import coerce_params
from omnigraph.storage.refs.snapshot import Snapshot

ARROWS = {"forward": "-{}->", "reverse": "<-{}-", "undirected": "-{}-"}


def explain(
    snapshot: Snapshot,
    query: CompiledQuery,
    params: Mapping[str, Any] | None,
    analyze: bool = False,
    *,
    context: ExecContext,
) -> str:
    """The plan of a read as a tree of text; with `analyze` it runs, and says what steps cost."""
    plan = query.ir
    if not isinstance(plan, ReadPlan):
        raise InvalidInput(f"{query.name} changes the graph; only reads are explained")
    view = GraphView(snapshot, context)
    steps = plan_read.match_plan(view, plan)
    route = choose_access_path(view, plan, steps)
    pushes = dict(_pushes(view, route, steps))
    trace = Trace() if analyze else None
    footer = []
    if trace is not None:
        footer.append(_analyzed(view, route, plan, coerce_params(query, params), trace))
    head = f"read {query.name}: {route.strategy} ({route.reason})"
    body = _match(view, steps, pushes, trace, 1)
    return "\n".join([head, *_result(view, route, plan), *body, *footer])


def _pushes(
    view: GraphView, route: AccessPath, plan: MatchPlan
) -> Iterator[tuple[str, tuple[Condition, ...]]]:
    """The conditions that tables will evaluate, by the variable they are about."""
    for step in plan.steps:
        if isinstance(step, AntiJoinStep):
            yield from _pushes(view, route, step.plan)
        if not isinstance(step, ScanStep) or _keyed(view, plan, step):
            continue
        source = view.source("node", plan.variables[step.variable].type_name)
        table, columns = view.context.table(source.table), view.context.columns
        found = {c: pushable(source, c) for c in plan.tests.get(step.variable, ())}
        pushed = {condition: name for condition, name in found.items() if name is not None}
        if route.strategy == "indexed" or all(columns.spares(table, n) for n in pushed.values()):
            yield step.variable, tuple(pushed)


def _keyed(view: GraphView, plan: MatchPlan, step: ScanStep) -> bool:
    type_ = view.snapshot.catalog.node(plan.variables[step.variable].type_name)
    return key_lookup(plan.tests.get(step.variable, ()), type_) is not None


def _analyzed(
    view: GraphView, route: AccessPath, plan: ReadPlan, values: Mapping[str, Any], trace: Trace
) -> str:
    source = view if route.strategy == "csr" else IndexedView(view.snapshot, view.context, None)
    evaluator = Evaluator(source, values, datetime.now(UTC))
    evaluator.trace = trace
    before = view.context.counters.lookups
    begun = time.perf_counter()
    batches = run_read.batches_of(evaluator, plan, result_schema(plan))
    rows = sum(batch.num_rows for batch in batches)
    took = (time.perf_counter() - begun) * 1e3
    looked_up = view.context.counters.lookups - before
    lookups = f", {looked_up} look-ups" if looked_up else ""
    return f"{rows_shown(rows)} in {took:.2f} ms{lookups}"


def _result(view: GraphView, route: AccessPath, plan: ReadPlan) -> Iterator[str]:
    columns = ", ".join(f"{shown(c.expr)} as {c.name}" for c in plan.columns)
    yield f"  return {columns}"
    if plan.limit is not None:
        yield f"  limit {plan.limit}"
    if plan.rank is not None:
        yield f"  rank by {shown(plan.rank)}"
    for key in plan.order:
        by = plan.columns[key.by].name if isinstance(key.by, int) else shown(key.by)
        yield f"  order by {by}{' desc' if key.descending else ''}"
    if plan.group_by is not None:
        keys = ", ".join(plan.columns[i].name for i in plan.group_by) or "nothing"
        how = "a row per match"
        if plan_read.factorized_tree(view, plan) and route.strategy == "csr":
            how = "summed along the pattern, without a row per match"
        yield f"  group by {keys}: {how}"
    yield "  match"


def _match(
    view: GraphView,
    plan: MatchPlan,
    pushes: Mapping[str, tuple[Condition, ...]],
    trace: Trace | None,
    depth: int,
) -> Iterator[str]:
    for step in plan.steps:
        cost = f"  [{trace.of(step)}]" if trace is not None else ""
        yield "  " * (depth + 1) + _step(view, plan, step) + cost
        if isinstance(step, ScanStep) and pushes.get(step.variable):
            pushed = " and ".join(shown(c) for c in pushes[step.variable])
            yield "  " * (depth + 2) + f"pushed into the table: {pushed}"
        if isinstance(step, AntiJoinStep):
            yield from _match(view, step.plan, pushes, trace, depth + 1)


def _step(view: GraphView, plan: MatchPlan, step: MatchStep) -> str:
    match step:
        case ScanStep():
            info = plan.variables[step.variable]
            tests = plan.tests.get(step.variable, ())
            how = "look up by key" if _keyed(view, plan, step) else "scan"
            on = "" if step.equal is None else f" on {' = '.join(map(shown, step.equal))}"
            return f"{how} ${step.variable}: {info.type_name}{on}{_where(tests)}{_about(step)}"
        case ExpandStep():
            tests = plan.tests.get(step.variable, ())
            return f"expand {_path(step)}{_where(tests)}{_about(step)}"
        case ExpandIntoStep():
            return f"join {_path(step)}{_about(step)}"
        case FilterStep():
            return f"keep{_where(step.conditions)}"
        case AntiJoinStep():
            names = ", ".join(f"${name}" for name in step.correlated)
            return f"drop what matches, for each distinct {names}"


def _path(step: ExpandStep | ExpandIntoStep) -> str:
    expand = step.expand
    bounds = "" if expand.is_single_hop else f"{{{expand.min_hops},{expand.max_hops}}}"
    name = f"${expand.edge}:" if expand.edge else ""
    arrow = ARROWS[step.direction].format(f"[{name}{expand.edge_type}{bounds}]")
    return f"${step.origin} {arrow} ${step.variable}"


def _about(step: ScanStep | ExpandStep | ExpandIntoStep) -> str:
    return f"  ~{rows_shown(round(max(step.estimate, 1)))}"


def _where(conditions: tuple[Condition, ...]) -> str:
    return f" where {' and '.join(shown(c) for c in conditions)}" if conditions else ""


def shown(expr: Expr | Condition) -> str:
    """An expression as it is written in a query."""
    match expr:
        case PropertyRef():
            return f"${expr.variable}.{expr.property}"
        case NodeRef():
            return f"${expr.variable}"
        case Param():
            return f"${expr.name}"
        case Literal():
            return _literal(expr.value)
        case Now():
            return "now()"
        case Compare():
            return f"{shown(expr.left)} {expr.operator} {shown(expr.right)}"
        case Contains():
            return f"{shown(expr.text)} contains {shown(expr.part)}"
        case StartsWith():
            return f"{shown(expr.text)} starts_with {shown(expr.prefix)}"
        case Membership():
            return f"{shown(expr.list)} contains {shown(expr.item)}"
        case TextMatch():
            return f"{expr.kind}({shown(expr.field)}, {shown(expr.query)})"
        case Nearest():
            return f"nearest({shown(expr.field)}, {_vector(expr.query)})"
        case Bm25():
            return f"bm25({shown(expr.field)}, {shown(expr.query)})"
        case Rrf():
            return f"rrf({shown(expr.first)}, {shown(expr.second)}, {shown(expr.k)})"
        case Aggregate():
            return f"{expr.function}({shown(expr.argument)})"


def _literal(value: object) -> str:
    match value:
        case str() | bool() | None:
            return json.dumps(value, ensure_ascii=False)
        case datetime():
            return f'datetime("{value.isoformat()}")'
        case date():
            return f'date("{value.isoformat()}")'
        case tuple():
            return f"[{', '.join(map(_literal, value))}]"
    return str(value)


def _vector(expr: Expr) -> str:
    if isinstance(expr, Literal) and isinstance(expr.value, tuple):
        return f"[{len(expr.value)} numbers]"
    return shown(expr)
