"""What other databases do by the type of an argument, where DataFusion does something else."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.conjuncts import COMPARISONS
from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

_TRUNCATING_DIALECTS = ("spark", "tsql")
"""Here a cast to an integer truncates, as DataFusion's does; elsewhere it rounds."""
_SUNDAY_IS_ONE = ("mysql", "spark", "bigquery", "tsql")
"""Here days of the week are counted from 1, elsewhere from 0; both begin with Sunday."""
_OPERATIONS = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul)
_UNITS_OF_TIME = ("hour", "minute", "second", "milli", "micro", "nano", ":")
_DAYS_OF_WEEK = ("dayofweek", "weekday", "dw")


def coerce_types(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Casts round, dates become timestamps, lists have a length, weeks begin where they do.

    SELECT CAST(score AS INT), LENGTH(tags), born + INTERVAL '1 hour' FROM person AS p
    -> SELECT CAST(ROUND(score) AS INT), ARRAY_LENGTH(tags, 1), CAST(born AS TIMESTAMP) + INTERVAL
    '1 HOUR' FROM person AS p

    A likely type is enough: a wrong guess casts or rounds what DataFusion would cast anyway.
    """
    if context.dialect in _SUNDAY_IS_ONE:
        _count_days_from_one(tree)
    types = TypeInference(context, guess=True)
    for node in find_all(tree, exp.Coalesce, exp.Case, *COMPARISONS):
        _dates_as_timestamps(_sides(node), types)
    for union in find_all(tree, exp.SetOperation):
        for pair in zip(union.this.selects, union.expression.selects, strict=False):
            _dates_as_timestamps([column.unalias() for column in pair], types)
    for length in list(find_all(tree, exp.Length)):
        type_ = types.of(length.this)
        if type_ is not None and (pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_)):
            length.replace(exp.ArraySize(this=length.this.copy()))
    if context.dialect not in _TRUNCATING_DIALECTS:
        for cast in list(find_all(tree, exp.Cast)):
            _round(cast, types)
    known = TypeInference(context)
    for node in reversed(list(find_all(tree, exp.Add, exp.Sub, exp.Mul))):
        _keep_hours(node, known)
    return tree


def _round(cast: exp.Cast, types: TypeInference) -> None:
    if pa.types.is_integer(arrow_type(cast.args["to"])):
        type_ = types.of(cast.this)
        if type_ is not None and (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
            cast.set("this", exp.Round(this=cast.this.copy()))


def _keep_hours(node: exp.Expr, types: TypeInference) -> None:
    """Hours are added to a timestamp: DataFusion drops them from a date."""
    types.of(node)  # before the node is changed
    for side, interval in (("this", node.expression), ("expression", node.this)):
        if types.of(node.args[side]) == pa.date32() and _has_hours(interval):
            timestamp = exp.DataType(this=exp.DataType.Type.TIMESTAMP)
            node.set(side, exp.Cast(this=node.args[side], to=timestamp))


def _has_hours(node: exp.Expr) -> bool:
    """Whether an interval that is added has units smaller than a day."""
    if isinstance(node, exp.Interval):
        text = f"{node.text('this')} {node.text('unit')}".lower()
        return any(unit in text for unit in _UNITS_OF_TIME)
    return isinstance(node, _OPERATIONS) and any(map(_has_hours, node.iter_expressions()))


def _sides(node: exp.Expr) -> list[exp.Expr]:
    """What must have one type."""
    if isinstance(node, exp.Case):
        sides = [*(one.args.get("true") for one in node.args["ifs"]), node.args.get("default")]
    else:
        sides = [node.this, *(node.expressions or [node.args.get("expression")])]
    return [side for side in sides if side is not None]


def _dates_as_timestamps(sides: list[exp.Expr], types: TypeInference) -> None:
    """A date beside a timestamp is one, in microseconds: nanoseconds end in the year 2262."""
    of_sides = [types.of(side) for side in sides]
    if any(type_ is not None and pa.types.is_timestamp(type_) for type_ in of_sides):
        for side, type_ in zip(sides, of_sides, strict=True):
            if type_ == pa.date32():
                side.replace(exp.cast(side.copy(), exp.DataType.Type.TIMESTAMP))


def _count_days_from_one(tree: exp.Expr) -> None:
    for node in list(find_all(tree, exp.DayOfWeek, exp.Extract)):
        if isinstance(node, exp.Extract) and node.this.name.lower() not in _DAYS_OF_WEEK:
            continue
        node.replace(exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1))))
