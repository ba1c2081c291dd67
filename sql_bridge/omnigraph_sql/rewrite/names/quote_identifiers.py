"""Names match in any case: each is written as the table spells it, and quoted.

A name that only the statement itself gives (an alias) is spelled as it was first written.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import RewriteContext

_TABLE_PARTS = frozenset({"table", "db", "catalog"})


def quote_identifiers(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Quote every name in its one spelling."""
    aliases: dict[str, str] = {}
    tables: dict[str, str] = {}
    for name in tree.find_all(exp.Identifier):
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
    """Whether a name was put there by `resolve_tables`, exactly as it must stay."""
    parent = name.parent
    if not isinstance(parent, exp.Table) or name.arg_key != "this":
        return False
    return "@" in name.this or name.this in context.temporary_names


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
    folded, column = name.this.casefold(), name.parent
    aliases: list[str]
    if isinstance(column, exp.Column) and column.table:
        aliases = [column.table]
    else:
        select = name.find_ancestor(exp.Select)
        aliases = [source.alias_or_name for source in _sources(select)] if select else []
    found = {
        spelling
        for alias in aliases
        for spelling in context.sources.get(alias.casefold(), ())
        if spelling.name.casefold() == folded
    }
    names = {field.name for field in found}
    return names.pop() if len(names) == 1 else None


def _sources(select: exp.Select) -> list[exp.Expr]:
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [*([from_.this] if from_ else []), *(join.this for join in joins)]
