"""Constant queries, such as the SELECT 1 with which tools test a connection."""

from __future__ import annotations

from sqlglot import exp

_PLAIN = (
    exp.Select,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Alias,
    exp.Identifier,
    exp.Paren,
    exp.Neg,
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
)


def is_constant(tree: exp.Expr) -> bool:
    """Whether a query is one row of literals: no table, no function, no parameter, no condition."""
    return isinstance(tree, exp.Select) and all(isinstance(node, _PLAIN) for node in tree.walk())
