"""Literals keep what is written, where DataFusion would cut it off or refuse it."""

from __future__ import annotations

import re

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_DECIMAL_DIGITS = 76
_NANOSECONDS = re.compile(r"\s*(\d{4}-\d\d-\d\d[ T][\d:]+\.\d{7,9})")
_FIRST, _LAST = "1677-09-21 00:12:43.145224192", "2262-04-11 23:47:16.854775807"
"""The years that nanoseconds can count."""
_TIMES = (
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
)


def preserve_literals(tree: exp.Expr, context: RewriteContext) -> exp.Expr:  # noqa: ARG001
    """Hexadecimal is bytes, an exponent makes a double, and a time has the digits it is given.

    SELECT 1e30, X'00ff', TIMESTAMP '2024-01-01 00:00:00.123456789'
    -> SELECT CAST('1e30' AS DOUBLE PRECISION), DECODE('00ff', 'hex'), CAST('2024-01-01
    00:00:00.123456789' AS TIMESTAMP(9))

    DataFusion takes every number for a decimal, which has no room for the exponents of doubles.
    """
    for node in list(find_all(tree, exp.Literal, exp.HexString, exp.Cast)):
        if isinstance(node, exp.HexString):
            _keep_bytes(node)
        elif isinstance(node, exp.Cast):
            _keep_nanoseconds(node)
        elif not node.is_string and _is_wide(node.name):
            text = exp.Literal.string(node.name)
            node.replace(exp.cast(text, exp.DataType.Type.DOUBLE))
    return tree


def _is_wide(number: str) -> bool:
    return "e" in number.lower() or ("." in number and len(number) > _DECIMAL_DIGITS)


def _keep_bytes(node: exp.HexString) -> None:
    if node.args.get("is_integer"):
        return
    if len(node.name) % 2:
        raise InvalidInput(
            f"X'{node.name}' ends in the middle of a byte", hint="Write two digits for each byte."
        )
    node.replace(exp.func("decode", exp.Literal.string(node.name), exp.Literal.string("hex")))


def _keep_nanoseconds(cast: exp.Cast) -> None:
    declared, text = cast.to, cast.this
    if declared.this not in _TIMES or declared.expressions or not text.is_string:
        return
    matched = _NANOSECONDS.match(text.name)
    if matched is not None and _FIRST <= matched[1].replace("T", " ") <= _LAST:
        precise = exp.DataTypeParam(this=exp.Literal.number(9))
        cast.set("to", exp.DataType(this=declared.this, expressions=[precise]))
