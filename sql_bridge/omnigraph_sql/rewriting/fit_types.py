"""What other databases do by the type of an argument, where the engine does something else."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.expression_types import sure_type, type_of
from omnigraph_sql.scope import Scope
from omnigraph_sql.sql_types import arrow_type

_CUTTING_DIALECTS = ("spark", "tsql")
"""Here a cast to an integer cuts the fraction off, as the engine's does; elsewhere it rounds."""
_SUNDAY_IS_ONE = ("mysql", "spark", "bigquery", "tsql")
"""Here days of the week are counted from 1, elsewhere from 0; both begin with Sunday."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_SMALL = (pa.int8(), pa.int16(), pa.int32())
_SMALL_UNITS = ("hour", "minute", "second", "milli", "micro", "nano", ":")
_DAYS_OF_WEEK = ("dayofweek", "weekday", "dw")


def fit_types(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Casts round, dates become times, lists are as long as they are, weeks begin where they do."""
    if scope.dialect in _SUNDAY_IS_ONE:
        _count_days_from_one(tree)
    for node in tree.find_all(exp.Coalesce, exp.Case, *_COMPARISONS):
        _dates_as_times(_sides(node), scope)
    for united in tree.find_all(exp.SetOperation):
        for pair in zip(united.this.selects, united.expression.selects, strict=False):
            _dates_as_times([column.unalias() for column in pair], scope)
    for node in list(tree.find_all(exp.Add, exp.Sub, exp.Mul)):
        _give_room(node, scope)
    for length in list(tree.find_all(exp.Length)):
        found = type_of(length.this, scope)
        if found is not None and (pa.types.is_list(found) or pa.types.is_fixed_size_list(found)):
            length.replace(exp.ArraySize(this=length.this.copy()))
    if scope.dialect in _CUTTING_DIALECTS:
        return tree
    for cast in list(tree.find_all(exp.Cast)):
        if pa.types.is_integer(arrow_type(cast.args["to"])):
            found = type_of(cast.this, scope)
            if found is not None and (pa.types.is_floating(found) or pa.types.is_decimal(found)):
                cast.set("this", exp.Round(this=cast.this.copy()))
    return tree


def _give_room(node: exp.Expr, scope: Scope) -> None:
    """Integers are computed as BIGINT, and hours are added to a time of the day.

    The engine lets small integers overflow unseen, and drops hours from a date.
    """
    left, right = node.this, node.expression
    types = [sure_type(side, scope) for side in (left, right)]
    if all(type_ in _SMALL for type_ in types):
        left.replace(exp.cast(exp.paren(left.copy()), exp.DataType.Type.BIGINT))
    elif types[0] == pa.date32() and _has_hours(right):
        left.replace(exp.cast(left.copy(), exp.DataType.Type.TIMESTAMP))
    elif types[1] == pa.date32() and _has_hours(left):
        right.replace(exp.cast(right.copy(), exp.DataType.Type.TIMESTAMP))


def _has_hours(node: exp.Expr) -> bool:
    """Whether an interval is written with units smaller than a day."""
    return any(
        unit in f"{interval.text('this')} {interval.text('unit')}".lower()
        for interval in node.find_all(exp.Interval)
        for unit in _SMALL_UNITS
    )


def _sides(node: exp.Expr) -> list[exp.Expr]:
    """What must have one type."""
    if isinstance(node, exp.Case):
        found = [*(one.args.get("true") for one in node.args["ifs"]), node.args.get("default")]
    else:
        found = [node.this, *(node.expressions or [node.args.get("expression")])]
    return [side for side in found if side is not None]


def _dates_as_times(sides: list[exp.Expr], scope: Scope) -> None:
    """A date beside a time is a time, in microseconds: nanoseconds end in the year 2262."""
    types = [type_of(side, scope) for side in sides]
    if any(type_ is not None and pa.types.is_timestamp(type_) for type_ in types):
        for side, type_ in zip(sides, types, strict=True):
            if type_ == pa.date32():
                side.replace(exp.cast(side.copy(), exp.DataType.Type.TIMESTAMP))


def _count_days_from_one(tree: exp.Expr) -> None:
    for node in list(tree.find_all(exp.DayOfWeek, exp.Extract)):
        if isinstance(node, exp.Extract) and node.this.name.lower() not in _DAYS_OF_WEEK:
            continue
        node.replace(exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1))))
