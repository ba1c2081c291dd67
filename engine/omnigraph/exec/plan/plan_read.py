"""A read to the plan of its match, remembered for a state of the graph."""

from __future__ import annotations

from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.plan.match_plan import MatchPlan, ScanStep, plan_match
from omnigraph.exec.plan.pattern_tree import PatternTree, tree_of
from omnigraph.query.logical.expression_walk import variables_of
from omnigraph.query.logical.expressions import Aggregate, Expr, NodeRef, ranked_variable
from omnigraph.query.logical.logical_plan import Pattern, ReadPlan

MANY_ROWS = 20_000
"""From about this many matches on, aggregates are pushed along the pattern where that works."""


ONE_HOP = 10
"""How many times as many, where one hop leads from nodes that a condition selects."""


def follows_edges(pattern: Pattern) -> bool:
    inner = (negation.pattern for negation in pattern.negations)
    return bool(pattern.expands) or any(map(follows_edges, inner))


def match_plan(view: GraphView, plan: ReadPlan) -> MatchPlan:
    """How the pattern is matched; made once for a state of the graph."""
    return view.context.planned(
        plan,
        view.snapshot.commit,
        lambda: plan_match(view, plan.pattern, needed_variables(plan)),
    )


def pattern_tree(view: GraphView, plan: ReadPlan) -> PatternTree | None:
    """The pattern as a tree, where matches need not be made one by one."""
    return view.context.planned(plan.columns, view.snapshot.commit, lambda: tree_of(view, plan))


def factorized_tree(view: GraphView, plan: ReadPlan) -> PatternTree | None:
    """The same, if there are so many matches that making none of them pays."""
    match = match_plan(view, plan)
    many = MANY_ROWS
    start = match.steps[0] if len(match.steps) == 2 else None
    if isinstance(start, ScanStep) and match.tests.get(start.variable):
        many *= ONE_HOP  # from few nodes there is nothing to sum up
    return pattern_tree(view, plan) if match.rows > many else None


def needed_variables(plan: ReadPlan) -> frozenset[str]:
    """The variables the result depends on once the match is done."""
    found = frozenset().union(*(used(column.expr) for column in plan.columns))
    for key in plan.order:
        if not isinstance(key.by, int):
            found |= used(key.by)
    if plan.rank is not None:
        found |= {ranked_variable(plan.rank)}
    if plan.order or plan.rank is not None:
        found |= set(plan.tie_break)
    return found


def used(expr: Expr) -> frozenset[str]:
    """The variables whose values an expression needs; counting nodes is counting rows."""
    if isinstance(expr, Aggregate):
        return frozenset() if isinstance(expr.argument, NodeRef) else variables_of(expr.argument)
    return variables_of(expr)
