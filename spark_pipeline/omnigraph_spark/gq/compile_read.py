"""A read plan as one Spark SQL query: match, then group or order, limit and project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlglot import exp

from omnigraph.query.logical import Aggregate, EntityKind, OutputColumn, PropertyRef, ReadPlan
from omnigraph_spark.gq.conditions import refuse_search, value_sql
from omnigraph_spark.gq.constants import Constants, sql_type
from omnigraph_spark.gq.pattern_joins import JoinedPattern, references
from omnigraph_spark.gq.table_columns import ReferencedColumns

_FUNCTIONS = {"sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max}


@dataclass(frozen=True)
class SparkQuery:
    """SQL over views, the arguments it takes, and the columns each view must have.

    The result columns are called c0, c1, … because names in the language may repeat.
    """

    sql: str
    arguments: Mapping[str, Any]
    views: Mapping[str, tuple[EntityKind, str, tuple[str, ...]]]
    """Name of the view: kind, type and columns."""
    names: tuple[str, ...]


def compile_read(
    plan: ReadPlan, params: Mapping[str, Any], now: datetime, *, prefix: str = "gq"
) -> SparkQuery:
    """The query of a read; `params` as `coerce_params` returns them."""
    if plan.rank is not None:
        raise refuse_search(type(plan.rank).__name__.lower())
    tables, constants = ReferencedColumns(prefix), Constants(params, now)
    match = JoinedPattern(plan.pattern, _read(plan), tables, constants)
    query = _ordered(plan, _grouped(plan, match, constants))
    views = {tables.view(*key): (*key, tuple(columns)) for key, columns in tables.columns.items()}
    names = tuple(column.name for column in plan.columns)
    return SparkQuery(query.sql(dialect="spark"), constants.arguments, views, names)


def _read(plan: ReadPlan) -> Iterator[PropertyRef]:
    for column in plan.columns:
        yield from references(column.expr)
    for key in plan.order:
        if not isinstance(key.by, int):
            yield from references(key.by)


def _grouped(plan: ReadPlan, match: JoinedPattern, constants: Constants) -> exp.Select:
    """The result columns c0, c1, …, and what orders them: o0, o1, …"""
    columns = [_argument(column, match, constants) for column in plan.columns]
    results = [value.as_(f"c{n}") for n, value in enumerate(columns)]
    if plan.group_by is None:
        keys = [key.by for key in plan.order if not isinstance(key.by, int)]
        order = [value_sql(key, match.column, constants) for key in keys]
        order += [match.id(name) for name in plan.tie_break] if plan.order else []
        return match.select(*results, *(value.as_(f"o{n}") for n, value in enumerate(order)))
    groups = [exp.column(f"c{n}") for n in plan.group_by]
    outer = [
        _aggregate(column.expr, exp.column(f"c{n}")).as_(f"c{n}")
        if isinstance(column.expr, Aggregate)
        else exp.column(f"c{n}")
        for n, column in enumerate(plan.columns)
    ]
    return exp.select(*outer).from_(match.select(*results).subquery("m")).group_by(*groups)


def _argument(column: OutputColumn, match: JoinedPattern, constants: Constants) -> exp.Expr:
    expr = column.expr.argument if isinstance(column.expr, Aggregate) else column.expr
    return value_sql(expr, match.column, constants)


def _aggregate(call: Aggregate, argument: exp.Column) -> exp.Expr:
    if call.function == "count":
        return exp.Count(this=argument)
    if call.function in ("sum", "avg"):
        return _FUNCTIONS[call.function](this=exp.cast(argument, "double"))
    return exp.cast(_FUNCTIONS[call.function](this=argument), sql_type(call.type))


def _ordered(plan: ReadPlan, rows: exp.Select) -> exp.Select:
    columns = [exp.column(f"c{n}") for n in range(len(plan.columns))]
    query = exp.select(*columns).from_(rows.subquery("r"))
    keys, others = [], 0
    for key in plan.order:
        if isinstance(key.by, int):
            keys.append(_key(f"c{key.by}", key.descending))
        else:
            keys.append(_key(f"o{others}", key.descending))
            others += 1
    if plan.order:
        ties = [f"o{others + n}" for n in range(len(plan.tie_break))]
        ties += [f"c{n}" for n in plan.group_by or ()]
        keys += [_key(name, False) for name in ties]
    query = query.order_by(*keys) if keys else query
    return query if plan.limit is None else query.limit(plan.limit)


def _key(name: str, descending: bool) -> exp.Ordered:
    """Null sorts below every value."""
    return exp.Ordered(this=exp.column(name), desc=descending, nulls_first=not descending)
