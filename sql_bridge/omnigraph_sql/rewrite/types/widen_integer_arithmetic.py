"""Arithmetic of small integers that overflows is an error, as in other databases."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

_SMALL = {
    pa.int8(): exp.DataType.Type.TINYINT,
    pa.int16(): exp.DataType.Type.SMALLINT,
    pa.int32(): exp.DataType.Type.INT,
}
_SUMS = (exp.Add, exp.Sub)


def widen_integer_arithmetic(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Compute small integers as BIGINT and cast the result back.

    SELECT age + age FROM person AS p
    -> SELECT CAST(CAST(age AS BIGINT) + age AS INT) FROM person AS p

    DataFusion lets small integers overflow unseen, but casts none that does not fit. Only what is
    certainly small is computed so, and a parameter beside it.
    """
    types = TypeInference(context)
    operations = list(find_all(tree, exp.Add, exp.Sub, exp.Mul))
    for node in reversed(operations):
        _type_parameters(node, types)
    for node in reversed(operations):
        _widen(node, types)
    return tree


def _type_parameters(node: exp.Expr, types: TypeInference) -> None:
    for side, other in (("this", node.expression), ("expression", node.this)):
        if isinstance(node.args[side], exp.Parameter) and types.of(other) in _SMALL:
            _cast(node, side, _SMALL[types.of(other)])


def _widen(node: exp.Expr, types: TypeInference) -> None:
    """Widen an operation; what is part of a sum is not cast back, but the sum is."""
    type_ = types.of(node)  # inferred before the node is changed
    if types.of(node.this) not in _SMALL or types.of(node.expression) not in _SMALL:
        return
    if not isinstance(node.this.unnest(), _SUMS):
        _cast(node, "this", exp.DataType.Type.BIGINT)
    if not _is_part_of_sum(node, types):
        narrowed = exp.Cast(to=exp.DataType(this=_SMALL[type_]))
        node.replace(narrowed)
        narrowed.set("this", node)


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
    """Cast a side of a node; without a copy, so that its type is not inferred again."""
    node.set(side, exp.Cast(this=node.args[side], to=exp.DataType(this=type_)))
