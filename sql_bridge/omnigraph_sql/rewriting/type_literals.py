"""Whole numbers that a query gives out are integers, as other databases have it."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.scope import Scope

_INTEGERS = range(-(2**31), 2**31)


def type_literals(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """A column that is nothing but a number is INTEGER where the number fits.

    The engine takes every number for a BIGINT. Arithmetic is left alone, so that it has room; and
    so are the sides of a UNION, which must agree.
    """
    for select in tree.find_all(exp.Select):
        if isinstance(select.parent, exp.SetOperation):
            continue
        for column in select.expressions:
            value = column.unalias()
            if _is_small(value):
                value.replace(exp.cast(value.copy(), exp.DataType.Type.INT))
    return tree


def _is_small(value: exp.Expr) -> bool:
    inner = value.this if isinstance(value, exp.Neg) else value
    return isinstance(inner, exp.Literal) and inner.is_int and int(value.to_py()) in _INTEGERS
