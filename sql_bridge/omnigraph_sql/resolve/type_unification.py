"""Whether the parts of a rewritten query have yet to agree on the type of a column."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.resolve.column_sources import sources_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_PARTED = (exp.Case, exp.If, exp.SetOperation, exp.DecodeCase, exp.StrPosition)
"""What the engine's SQL spells as a CASE or as a UNION and its like."""
_DIGITS = 19
"""With so many, a number may be more than 64 bits hold."""


def needs_unification(tree: exp.Expr, context: RewriteContext) -> bool:
    """Whether a result may have another type than its first part; not where all have the same."""
    return any(
        not _is_agreed(node, context)
        for node in tree.find_all(*_PARTED)
        if node.find_ancestor(exp.Where, exp.Having) is None
    )


def _is_agreed(node: exp.Expr, context: RewriteContext) -> bool:
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return True  # told with its CASE
    if isinstance(node, exp.StrPosition):
        return node.args.get("position") is None
    if not isinstance(node, exp.Case | exp.If):
        return False
    if isinstance(node, exp.If):
        values = [node.args.get("true"), node.args.get("false")]
    else:
        values = [*(one.args.get("true") for one in node.args["ifs"]), node.args.get("default")]
    types = [_certain(value, context) for value in values if value is not None]
    # A null is of any type, but the first one would be asked for its own.
    return types[0] != pa.null() and set(types) - {pa.null()} == {types[0]} and types[0] is not None


def _certain(value: exp.Expr, context: RewriteContext) -> pa.DataType | None:
    """The type of what names one: a cast, a truth, a stored column; else none."""
    match value:
        case exp.Paren():
            return _certain(value.this, context)
        case exp.Null():
            return pa.null()
        case exp.Boolean():
            return pa.bool_()
        case exp.Literal() if value.is_string:
            return pa.string()
        case exp.Literal() if value.is_int and len(value.name) < _DIGITS:
            return pa.int64()  # the engine's, where nothing casts it
        case exp.Cast():
            return arrow_type(value.args["to"])
        case exp.Column():
            return _stored(value, context)
    return None


def _stored(column: exp.Column, context: RewriteContext) -> pa.DataType | None:
    """The type of a column that certainly is one of a stored table."""
    select = column.find_ancestor(exp.Select)
    sources = sources_of(select) if select is not None else []
    if not column.table and len(sources) > 1:
        return None
    for source in sources:
        if column.table and source.alias_or_name.casefold() != column.table.casefold():
            continue
        alias = source.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return None
        schema = context.registered.get(source.name) if isinstance(source, exp.Table) else None
        found = [f.type for f in schema or () if f.name == column.name]
        return found[0] if len(found) == 1 else None
    return None
