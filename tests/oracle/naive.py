"""Reads by the definitions of the language reference: slowly, obviously, on plain dictionaries.

Nothing here is shared with the engine's execution. Every node variable is tried with every node of
its type; every condition says true, false or unknown; hops follow the pseudo-code of
docs/design/query-language.md#3-matching
line by line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from typing import Any

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
from omnigraph.query.logical.logical_plan import Expand, Pattern, ReadPlan
from oracle.plain import PlainEdge, PlainGraph
from oracle.ranking import bm25_scores, distance, fused, in_order
from oracle.text import text_matches

Binding = Mapping[str, Any]
"""Variable to the id of its node, or to its edge."""
Row = tuple[Any, ...]
Truth = bool | None


@dataclass(frozen=True)
class Run:
    """One execution: the graph, the parameter values, and the variables of the whole query."""

    graph: PlainGraph
    params: Mapping[str, Any]
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    types: dict[str, str] = field(default_factory=dict)


def evaluate(plan: ReadPlan, graph: PlainGraph, params: Mapping[str, Any]) -> list[Row]:
    """The rows of a read; in order if it has one, all of them even past its limit otherwise."""
    run = Run(graph, params)
    found = list(matches(run, plan.pattern, {}))
    if plan.group_by is not None:
        rows = _grouped(run, plan, found)
    elif plan.rank is not None:
        rows = _ranked(run, plan, found)
    else:
        rows = _ordered(run, plan, found)
    return rows if plan.limit is None else rows[: plan.limit]


# --------------------------------------------------------------------------- match


def matches(run: Run, pattern: Pattern, outer: Binding) -> Iterator[Binding]:
    """Every way to bind the variables of a pattern, given those of the enclosing ones."""
    nodes = {n: v for n, v in pattern.variables.items() if v.kind == "node"}
    run.types.update({name: info.type_name for name, info in nodes.items()})
    free = [name for name in nodes if name not in outer]
    for chosen in product(*(run.graph.nodes[nodes[name].type_name] for name in free)):
        binding = {**outer, **dict(zip(free, chosen, strict=True))}
        predicates = [p for scan in pattern.scans for p in scan.predicates]
        if not all(holds(run, p, binding) is True for p in predicates):
            continue
        for complete in _with_edges(run, pattern.expands, binding):
            if not all(holds(run, c, complete) is True for c in pattern.filters):
                continue
            if not any(_matches_at_all(run, n.pattern, complete) for n in pattern.negations):
                yield complete


def _matches_at_all(run: Run, pattern: Pattern, outer: Binding) -> bool:
    return next(matches(run, pattern, outer), None) is not None


def _with_edges(run: Run, expands: Sequence[Expand], binding: Binding) -> Iterator[Binding]:
    """The binding for every choice of edges; as it is when no edge is named."""
    if not expands:
        yield binding
        return
    first, rest = expands[0], expands[1:]
    left, right = binding[first.left], binding[first.right]
    if first.edge is None:
        if right in destinations(run.graph, first, left):
            yield from _with_edges(run, rest, binding)
        return
    for edge in run.graph.edges[first.edge_type]:
        if _connects(edge, first, left, right):
            yield from _with_edges(run, rest, {**binding, first.edge: edge})


def _connects(edge: PlainEdge, expand: Expand, left: str, right: str) -> bool:
    forward = (edge.src, edge.dst) == (left, right)
    backward = (edge.src, edge.dst) == (right, left)
    match expand.direction:
        case "forward":
            return forward
        case "reverse":
            return backward
        case "undirected":
            return forward or backward


def neighbours(graph: PlainGraph, expand: Expand, node: str) -> set[str]:
    found = set()
    for edge in graph.edges[expand.edge_type]:
        if edge.src == node and expand.direction in ("forward", "undirected"):
            found.add(edge.dst)
        if edge.dst == node and expand.direction in ("reverse", "undirected"):
            found.add(edge.src)
    return found


def destinations(graph: PlainGraph, expand: Expand, start: str) -> set[str]:
    """Breadth-first from one source (docs/design/query-language.md#3-matching)."""
    if expand.is_single_hop:
        return neighbours(graph, expand, start)
    visited, frontier, emitted = {start}, [start], set()
    for hop in range(1, expand.max_hops + 1):
        queue = []
        for here in frontier:
            for there in neighbours(graph, expand, here):
                if there == here:
                    if hop >= expand.min_hops:
                        emitted.add(there)
                elif there not in visited:
                    visited.add(there)
                    queue.append(there)
                    if hop >= expand.min_hops:
                        emitted.add(there)
        frontier = queue
    return emitted


# --------------------------------------------------------------------------- values


def value_of(run: Run, expr: Expr, binding: Binding) -> Any:  # noqa: ANN401
    match expr:
        case Literal():
            return list(expr.value) if isinstance(expr.value, tuple) else expr.value
        case Param():
            return run.params[expr.name]
        case Now():
            return run.now
        case NodeRef():
            return binding[expr.variable]
        case PropertyRef():
            entity = binding[expr.variable]
            if isinstance(entity, PlainEdge):
                return entity.values[expr.property]
            return run.graph.nodes[run.types[expr.variable]][entity][expr.property]
        case TextMatch():
            return holds(run, expr, binding)
        case Nearest():
            field_, query = (value_of(run, e, binding) for e in (expr.field, expr.query))
            return None if field_ is None or query is None else distance(field_, query)
        case Bm25():
            return _bm25(run, expr).get(binding[expr.field.variable])
        case _:
            raise AssertionError(f"{expr} is no value of one row")


def _bm25(run: Run, call: Bm25) -> dict[str, float]:
    texts = {
        id_: values[call.field.property]
        for id_, values in run.graph.nodes[run.types[call.field.variable]].items()
    }
    return bm25_scores(texts, value_of(run, call.query, {}))


# --------------------------------------------------------------------------- conditions


def holds(run: Run, condition: Condition, binding: Binding) -> Truth:
    """True, false, or unknown because an operand is null."""
    match condition:
        case Compare():
            return _both(run, condition.left, condition.right, binding, _compare(condition))
        case Contains():
            return _both(run, condition.text, condition.part, binding, lambda a, b: b in a)
        case StartsWith():
            parts = (condition.text, condition.prefix)
            return _both(run, *parts, binding, lambda a, b: a.startswith(b))
        case Membership():
            return _both(run, condition.list, condition.item, binding, lambda a, b: b in a)
        case TextMatch():
            kind, far = condition.kind, 0
            if condition.distance is not None:
                far = value_of(run, condition.distance, binding)
            return _both(
                run,
                condition.field,
                condition.query,
                binding,
                lambda text, query: text_matches(text, query, far if kind == "fuzzy" else 0),
            )


def _compare(condition: Compare) -> Callable[[Any, Any], bool]:
    """Python compares numbers by value and texts by code point, which is the order of UTF-8."""
    operators: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    return operators[condition.operator]


def _both(
    run: Run, left: Expr, right: Expr, binding: Binding, test: Callable[[Any, Any], bool]
) -> Truth:
    a, b = value_of(run, left, binding), value_of(run, right, binding)
    return None if a is None or b is None else test(a, b)


# --------------------------------------------------------------------------- results


def _projected(run: Run, plan: ReadPlan, binding: Binding, extra: Mapping[Expr, Any]) -> Row:
    return tuple(
        extra[c.expr] if c.expr in extra else value_of(run, c.expr, binding) for c in plan.columns
    )


def null_first(value: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Null sorts below every value."""
    return (0, 0) if value is None else (1, value)


def _tie_break(plan: ReadPlan, binding: Binding) -> tuple[str, ...]:
    entities = (binding[name] for name in plan.tie_break)
    return tuple(e.id if isinstance(e, PlainEdge) else e for e in entities)


def _sort(run: Run, plan: ReadPlan, found: list[Binding]) -> list[Binding]:
    """By every key, the last one first, because sorting keeps the order of equals."""
    found = sorted(found, key=lambda binding: _tie_break(plan, binding))
    for key in reversed(plan.order):
        by = key.by
        assert not isinstance(by, int)
        found.sort(key=lambda b: null_first(value_of(run, by, b)), reverse=key.descending)  # noqa: B023
    return found


def _ordered(run: Run, plan: ReadPlan, found: list[Binding]) -> list[Row]:
    return [_projected(run, plan, binding, {}) for binding in _sort(run, plan, found)]


def _grouped(run: Run, plan: ReadPlan, found: list[Binding]) -> list[Row]:
    assert plan.group_by is not None
    groups: dict[Row, list[Binding]] = {}
    for binding in found:
        key = tuple(value_of(run, plan.columns[n].expr, binding) for n in plan.group_by)
        groups.setdefault(_hashable(key), []).append(binding)
    if not plan.group_by:
        groups.setdefault((), [])
    rows = []
    for members in groups.values():
        row = [
            _aggregate(run, c.expr, members)
            if isinstance(c.expr, Aggregate)
            else value_of(run, c.expr, members[0])
            for c in plan.columns
        ]
        rows.append(tuple(row))
    rows.sort(key=lambda row: tuple(null_first(row[n]) for n in plan.group_by or ()))
    for order in reversed(plan.order):
        assert isinstance(order.by, int)
        column = order.by
        rows.sort(key=lambda row: null_first(row[column]), reverse=order.descending)  # noqa: B023
    return rows


def _hashable(key: Row) -> Row:
    return tuple(tuple(v) if isinstance(v, list) else v for v in key)


def _aggregate(run: Run, call: Aggregate, members: Sequence[Binding]) -> Any:  # noqa: ANN401
    values = [value_of(run, call.argument, binding) for binding in members]
    values = [value for value in values if value is not None]
    match call.function:
        case "count":
            return len(values)
        case "sum":
            return math.fsum(values) if values else None
        case "avg":
            return math.fsum(values) / len(values) if values else None
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)


# --------------------------------------------------------------------------- ranking


def _ranked(run: Run, plan: ReadPlan, found: list[Binding]) -> list[Row]:
    """Rank entities, then give each its rows."""
    rank = plan.rank
    assert rank is not None
    arm = rank.first if isinstance(rank, Rrf) else rank
    variable = arm.field.variable
    rows = _sort(run, plan, found)
    place = {id_: n for n, id_ in reversed(list(enumerate(b[variable] for b in rows)))}
    if isinstance(rank, Rrf):
        limit = plan.limit or 0
        first, second = (_listed(run, one, found, limit) for one in (rank.first, rank.second))
        scores = fused(first, second, value_of(run, rank.k, {}))
        best = list(scores)[:limit]
    else:
        scores = _scores(run, rank, found)
        sign = 1 if isinstance(rank, Nearest) else -1
        best = sorted(scores, key=lambda id_: (sign * scores[id_], place[id_], id_))
    return [
        _projected(run, plan, binding, {rank: scores[id_]})
        for id_ in best
        for binding in rows
        if binding[variable] == id_
    ]


def _listed(run: Run, arm: Nearest | Bm25, found: Sequence[Binding], limit: int) -> list[str]:
    """The entities an arm of a fusion ranks: only the best of `nearest`, all of `bm25`."""
    if isinstance(arm, Nearest):
        return in_order(_scores(run, arm, found), ascending=True)[:limit]
    return in_order(_scores(run, arm, found), ascending=False)


def _scores(run: Run, call: Nearest | Bm25, found: Sequence[Binding]) -> dict[str, float]:
    """The score of every entity that the match found and the call does not drop."""
    values = {b[call.field.variable]: value_of(run, call, b) for b in found}
    return {id_: score for id_, score in values.items() if score is not None}
