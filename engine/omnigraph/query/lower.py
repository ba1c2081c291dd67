"""Checked query to plan: patterns assembled, columns named, the order made total."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.query.check.checked_query import (
    CheckedItem,
    CheckedMatch,
    CheckedRead,
)
from omnigraph.query.logical.expressions import (
    Aggregate,
    Bm25,
    Condition,
    Expr,
    Literal,
    Nearest,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    TextMatch,
)
from omnigraph.query.logical.logical_plan import (
    AntiJoin,
    MutationPlan,
    OutputColumn,
    Pattern,
    Plan,
    ReadPlan,
    Scan,
    VariableInfo,
)

_UNNAMED = {Literal: "literal", Now: "now", Nearest: "nearest", Bm25: "bm25", Rrf: "rrf"}
"""What a result column is called that names neither a variable nor a parameter."""


def lower(body: CheckedRead | MutationPlan) -> Plan:
    """The plan of a checked query; a mutation is one already."""
    return _read(body) if isinstance(body, CheckedRead) else body


# --------------------------------------------------------------------------- patterns


def _pattern(match: CheckedMatch, outer: Mapping[str, VariableInfo]) -> Pattern:
    visible = {**match.variables, **outer}
    negations = []
    for inner in match.negations:
        # A variable is the outer one wherever in the enclosing blocks it is bound: the order of
        # clauses never changes a result (docs/design/query-language.md#3-matching).
        correlated = tuple(sorted(name for name in _used(inner) if name in visible))
        negations.append(AntiJoin(_pattern(inner, visible), correlated))
    used = {name: outer[name] for name in _used(match) if name in outer}
    return Pattern(
        variables=dict(sorted({**match.mentioned, **used}.items())),
        scans=_scans(match, outer),
        expands=match.expands,
        filters=match.filters,
        negations=tuple(negations),
    )


def _used(match: CheckedMatch) -> set[str]:
    """Every name the block writes, blocks inside included."""
    return set(match.mentioned).union(*(_used(inner) for inner in match.negations))


def _scans(match: CheckedMatch, outer: Mapping[str, VariableInfo]) -> tuple[Scan, ...]:
    """One scan for each node variable of the block, and for outer ones that it constrains."""
    predicates: dict[str, list[Condition]] = {
        name: []
        for name, info in match.variables.items()
        if info.kind == "node" and name not in outer
    }
    for name, predicate in match.predicates:
        predicates.setdefault(name, []).append(predicate)
    return tuple(
        Scan(name, match.mentioned[name].type_name, tuple(dict.fromkeys(conditions)))
        for name, conditions in predicates.items()
    )


# --------------------------------------------------------------------------- reads


def _read(read: CheckedRead) -> ReadPlan:
    pattern = _pattern(read.match, {})
    columns = tuple(_column(item) for item in read.items)
    aggregated = any(isinstance(column.expr, Aggregate) for column in columns)
    keys = tuple(n for n, c in enumerate(columns) if not isinstance(c.expr, Aggregate))
    return ReadPlan(
        pattern=pattern,
        columns=columns,
        group_by=keys if aggregated else None,
        rank=read.rank,
        order=read.keys,
        limit=read.limit,
        tie_break=() if aggregated else _tie_break(read.match.variables),
    )


def _tie_break(variables: Mapping[str, VariableInfo]) -> tuple[str, ...]:
    named = sorted(name for name, info in variables.items() if not info.anonymous)
    return (*named, *(name for name, info in variables.items() if info.anonymous))


def _column(item: CheckedItem) -> OutputColumn:
    name = item.alias or column_name(item.expr)
    return OutputColumn(name, item.alias or _field_name(item.expr), item.expr, item.expr.type)


def column_name(expr: Expr) -> str:
    """The name of a result column without an alias (docs/design/query-language.md#4-returning)."""
    match expr:
        case PropertyRef():
            return f"{expr.variable}.{expr.property}"
        case Aggregate():
            return column_name(expr.argument)
        case _:
            return _field_name(expr)


def _field_name(expr: Expr) -> str:
    """The name of a result field in a descriptor without an alias.

    The rules are docs/design/query-language.md#8-descriptors-stored-queries-lint.
    """
    match expr:
        case (
            PropertyRef(property=name)
            | NodeRef(variable=name)
            | Param(name=name)
            | TextMatch(kind=name)
            | Aggregate(function=name)
        ):
            return name
        case _:
            return _UNNAMED[type(expr)]
