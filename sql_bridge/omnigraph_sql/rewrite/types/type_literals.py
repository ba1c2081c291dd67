"""Numbers have the types that other databases give them: integers given out, doubles compared."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.conjuncts import COMPARISONS
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

_COMPARISONS = (*COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between)
_INTEGERS = range(-(2**31), 2**31)


def type_literals(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """A column that is nothing but a number is INTEGER where the number fits.

    SELECT 1 AS one FROM person AS p WHERE score > 1.1
    -> SELECT CAST(1 AS INT) AS one FROM person AS p WHERE score > CAST('1.1' AS DOUBLE PRECISION)

    DataFusion takes every number for a BIGINT. Arithmetic is left alone, so that it has room; and
    so is a recursion, whose first rows decide on the types of all. A number with a fraction that is
    compared with a DOUBLE is one itself: DataFusion would make a decimal of both, and cut digits
    off.
    """
    known, likely = TypeInference(context), TypeInference(context, guess=True)
    for node in find_all(tree, *_COMPARISONS):
        sides = list(node.iter_expressions())
        if any(_is_double(side, known, likely) for side in sides):
            for side in sides:
                _make_double(side)
    for select in find_all(tree, exp.Select):
        if not isinstance(select.parent, exp.SetOperation):
            _make_integers([select])
    for united in find_all(tree, exp.SetOperation):
        if not isinstance(united.parent, exp.SetOperation) and not _is_recursive(united):
            _make_integers(list(_sides(united)))
    return tree


def _make_integers(selects: list[exp.Select]) -> None:
    """Type the columns that are nothing but a small number in every one of the SELECTs."""
    for columns in zip(*(select.expressions for select in selects), strict=False):
        values = [column.unalias() for column in columns]
        if all(_is_small(value) for value in values):
            for value in values:
                value.replace(exp.cast(value.copy(), exp.DataType.Type.INT))


def _sides(query: exp.Expr) -> Iterator[exp.Select]:
    """The SELECTs whose rows are united."""
    if isinstance(query, exp.SetOperation):
        yield from _sides(query.this)
        yield from _sides(query.expression)
    elif isinstance(query, exp.Subquery):
        yield from _sides(query.this)
    elif isinstance(query, exp.Select):
        yield query


def _is_recursive(united: exp.SetOperation) -> bool:
    """Whether a UNION is that of a WITH RECURSIVE."""
    cte = united.parent
    return isinstance(cte, exp.CTE) and bool(cte.parent and cte.parent.args.get("recursive"))


def _is_small(value: exp.Expr) -> bool:
    inner = value.this if isinstance(value, exp.Neg) else value
    return isinstance(inner, exp.Literal) and inner.is_int and int(value.to_py()) in _INTEGERS


def _is_double(side: exp.Expr, known: TypeInference, likely: TypeInference) -> bool:
    """Whether a side is computed as a DOUBLE: its columns are known to be such."""
    if isinstance(side, exp.Query) or likely.of(side) != pa.float64():
        return False
    if isinstance(side.unnest(), exp.Cast):
        return True
    columns = list(find_all(side, exp.Column))
    return bool(columns) and all(known.of(column) == pa.float64() for column in columns)


def _make_double(side: exp.Expr) -> None:
    inner = side.unnest()
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    if isinstance(inner, exp.Literal) and not inner.is_string and not inner.is_int:
        text = exp.Literal.string(inner.name)  # a text is read exactly, a decimal is divided
        inner.replace(exp.cast(text, exp.DataType.Type.DOUBLE))
