"""What other databases do by the type of an argument, where the engine does something else."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.resolve.expression_types import type_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

_CUTTING_DIALECTS = ("spark", "tsql")
"""Here a cast to an integer cuts the fraction off, as the engine's does; elsewhere it rounds."""
_SUNDAY_IS_ONE = ("mysql", "spark", "bigquery", "tsql")
"""Here days of the week are counted from 1, elsewhere from 0; both begin with Sunday."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_SMALL = {
    pa.int8(): exp.DataType.Type.TINYINT,
    pa.int16(): exp.DataType.Type.SMALLINT,
    pa.int32(): exp.DataType.Type.INT,
}
_SUMS = (exp.Add, exp.Sub)
_PARTS = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul)
_SMALL_UNITS = ("hour", "minute", "second", "milli", "micro", "nano", ":")
_DAYS_OF_WEEK = ("dayofweek", "weekday", "dw")


def coerce_types(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Casts round, dates become times, lists are as long as they are, weeks begin where they do."""
    if context.dialect in _SUNDAY_IS_ONE:
        _count_days_from_one(tree)
    for node in tree.find_all(exp.Coalesce, exp.Case, *_COMPARISONS):
        _dates_as_times(_sides(node), context)
    for united in tree.find_all(exp.SetOperation):
        for pair in zip(united.this.selects, united.expression.selects, strict=False):
            _dates_as_times([column.unalias() for column in pair], context)
    for length in list(tree.find_all(exp.Length)):
        found = type_of(length.this, context)
        if found is not None and (pa.types.is_list(found) or pa.types.is_fixed_size_list(found)):
            length.replace(exp.ArraySize(this=length.this.copy()))
    if context.dialect not in _CUTTING_DIALECTS:
        for cast in list(tree.find_all(exp.Cast)):
            _round(cast, context)
    types = TypeInference(context)
    computed = list(tree.find_all(exp.Add, exp.Sub, exp.Mul))
    for node in reversed(computed):
        _type_parameters(node, types)
    for node in reversed(computed):
        _give_room(node, types)
    return tree


def _round(cast: exp.Cast, context: RewriteContext) -> None:
    if pa.types.is_integer(arrow_type(cast.args["to"])):
        found = type_of(cast.this, context)
        if found is not None and (pa.types.is_floating(found) or pa.types.is_decimal(found)):
            cast.set("this", exp.Round(this=cast.this.copy()))


def _type_parameters(node: exp.Expr, types: TypeInference) -> None:
    """A parameter beside a small integer is one itself, so that the result is looked at."""
    for side, other in (("this", node.expression), ("expression", node.this)):
        if isinstance(node.args[side], exp.Parameter) and types.of(other) in _SMALL:
            _cast(node, side, _SMALL[types.of(other)])


def _give_room(node: exp.Expr, types: TypeInference) -> None:
    """Small integers are computed as BIGINT and cast back, and hours are added to a time.

    The engine lets small integers overflow unseen, but casts none that does not fit; and it drops
    hours from a date. What is part of a sum is not cast back, but the sum is.
    """
    found = types.of(node)  # told before the node is changed
    left, right = types.of(node.this), types.of(node.expression)
    if left in _SMALL and right in _SMALL:
        if not isinstance(node.this.unnest(), _SUMS):
            _cast(node, "this", exp.DataType.Type.BIGINT)
        if not _is_part_of_sum(node, types):
            fitting = exp.Cast(to=exp.DataType(this=_SMALL[found]))
            node.replace(fitting)
            fitting.set("this", node)
    elif left == pa.date32() and _has_hours(node.expression):
        _cast(node, "this", exp.DataType.Type.TIMESTAMP)
    elif right == pa.date32() and _has_hours(node.this):
        _cast(node, "expression", exp.DataType.Type.TIMESTAMP)


def _is_part_of_sum(node: exp.Expr, types: TypeInference) -> bool:
    """Whether a sum of small integers is added to another one."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    return (
        isinstance(node, _SUMS)
        and isinstance(above, _SUMS)
        and types.of(above.this) in _SMALL
        and types.of(above.expression) in _SMALL
    )


def _cast(node: exp.Expr, side: str, type_: exp.DType) -> None:
    """Cast a side of a node; without a copy, so that its type need not be told again."""
    node.set(side, exp.Cast(this=node.args[side], to=exp.DataType(this=type_)))


def _has_hours(node: exp.Expr) -> bool:
    """Whether an interval that is added has units smaller than a day."""
    if isinstance(node, exp.Interval):
        text = f"{node.text('this')} {node.text('unit')}".lower()
        return any(unit in text for unit in _SMALL_UNITS)
    return isinstance(node, _PARTS) and any(_has_hours(one) for one in node.iter_expressions())


def _sides(node: exp.Expr) -> list[exp.Expr]:
    """What must have one type."""
    if isinstance(node, exp.Case):
        found = [*(one.args.get("true") for one in node.args["ifs"]), node.args.get("default")]
    else:
        found = [node.this, *(node.expressions or [node.args.get("expression")])]
    return [side for side in found if side is not None]


def _dates_as_times(sides: list[exp.Expr], context: RewriteContext) -> None:
    """A date beside a time is a time, in microseconds: nanoseconds end in the year 2262."""
    types = [type_of(side, context) for side in sides]
    if any(type_ is not None and pa.types.is_timestamp(type_) for type_ in types):
        for side, type_ in zip(sides, types, strict=True):
            if type_ == pa.date32():
                side.replace(exp.cast(side.copy(), exp.DataType.Type.TIMESTAMP))


def _count_days_from_one(tree: exp.Expr) -> None:
    for node in list(tree.find_all(exp.DayOfWeek, exp.Extract)):
        if isinstance(node, exp.Extract) and node.this.name.lower() not in _DAYS_OF_WEEK:
            continue
        node.replace(exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1))))
