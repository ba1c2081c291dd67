"""What columns of a plain table are when a statement does not say."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget

DEFAULTS = "defaults"
"""Under which property a table's declaration keeps the default expressions of columns."""


def default_expressions(work: WriteStatement, target: WriteTarget) -> dict[str, exp.Expr]:
    """What columns of a plain table are when nothing is said."""
    if target.kind != "table":
        return {}
    declared = work.txn.plain.table(target.full).declaration.properties.get(DEFAULTS, {})
    return {name: sqlglot.parse_one(text, read="postgres") for name, text in declared.items()}


def is_default(value: exp.Expr) -> bool:
    """Whether a value is the word DEFAULT."""
    return (
        isinstance(value, exp.Column | exp.Var | exp.Identifier)
        and value.name.upper() == "DEFAULT"
        and not value.args.get("table")
    )
