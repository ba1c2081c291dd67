"""Names match in any case: each is written as the table spells it, and quoted.

A name that only the statement itself gives (an alias) is spelled as it was first written.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import columns_of, owner_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_TABLE_PARTS = frozenset({"table", "db", "catalog"})


def quote_identifiers(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Quote every name in its one spelling.

    SELECT NAME FROM person AS P WHERE p.Age > 1
    -> SELECT "name" FROM person AS "P" WHERE "P"."age" > 1
    """
    aliases: dict[str, str] = {}
    tables: dict[str, str] = {}
    for name in find_all(tree, exp.Identifier):
        if _is_registered(name, context):
            continue
        if _names_a_table(name):
            spelled = tables.setdefault(name.this.casefold(), name.this)
        else:
            spelled = _column_spelling(name, context, aliases)
        name.set("this", spelled)
        name.set("quoted", True)
    return tree


def _is_registered(name: exp.Identifier, context: RewriteContext) -> bool:
    """Whether a name is that of a registered table, exactly as it must stay."""
    is_table = isinstance(name.parent, exp.Table) and name.arg_key == "this"
    return is_table and name.this in context.registered


def _names_a_table(name: exp.Identifier) -> bool:
    parent = name.parent
    if isinstance(parent, exp.Column):
        return name.arg_key in _TABLE_PARTS
    if isinstance(parent, exp.TableAlias):
        return name.arg_key == "this"
    return isinstance(parent, exp.Table)


def _column_spelling(name: exp.Identifier, context: RewriteContext, aliases: dict[str, str]) -> str:
    text = str(name.this)
    folded = text.casefold()
    known = context.columns.get(folded, set())
    if len(known) == 1:
        return next(iter(known))
    if not known:
        return aliases.setdefault(folded, text)
    return _spelling_in_sources(name, context) or (text if text in known else sorted(known)[0])


def _spelling_in_sources(name: exp.Identifier, context: RewriteContext) -> str | None:
    """How the one source meant spells a column that several tables spell differently."""
    select = name.find_ancestor(exp.Select)
    table = name.parent.table if isinstance(name.parent, exp.Column) else ""
    owner = owner_of(name.this, table, select, context) if select is not None else None
    columns = (columns_of(owner, context) if owner is not None else None) or []
    spellings = {column for column in columns if column.casefold() == name.this.casefold()}
    return spellings.pop() if len(spellings) == 1 else None
