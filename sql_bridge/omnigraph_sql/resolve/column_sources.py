"""Where the columns of a query come from: what each source of a SELECT gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM and in the joins of a SELECT."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    laterals = select.args.get("laterals") or []
    return [*([from_.this] if from_ else []), *(join.this for join in joins), *laterals]


def columns_of(source: exp.Expr, context: RewriteContext) -> frozenset[str] | None:
    """The folded names of a source's columns; none where only the engine knows them."""
    alias = source.args.get("alias")
    named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if named:
        return frozenset(column.name.casefold() for column in named)
    if isinstance(source, exp.Table):
        registered = context.registered.get(source.name)
        if registered is not None:
            return frozenset(name.casefold() for name in registered.names)
        return _given(query_of_with(source))
    return _given(source.this) if isinstance(source, exp.Subquery) else None


def names_of(source: exp.Expr, context: RewriteContext) -> list[str] | None:
    """The names of a source's columns in their order; none where only the engine knows them."""
    alias = source.args.get("alias")
    named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if named:
        return [column.name for column in named]
    if source.args.get("joins") or source.args.get("pivots"):
        return None
    if isinstance(source, exp.Table):
        registered = context.registered.get(source.name)
        if registered is not None:
            return list(registered.names)
        return results_of(query_of_with(source), context)
    return results_of(source.this, context) if isinstance(source, exp.Subquery) else None


def results_of(
    query: exp.Expr | None,
    context: RewriteContext,
    unnamed: Callable[[exp.Expr], str] | None = None,
) -> list[str] | None:
    """The names of a query's columns, stars written out; none where only the engine knows.

    `unnamed` says what a column is called that the query does not name.
    """
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    found: list[str] = []
    for one in query.expressions:
        names: list[str] | None
        if one.is_star:
            names = star_names(one, query, context)
        elif isinstance(one, exp.Alias | exp.Column):
            names = [one.alias_or_name]
        else:
            names = [unnamed(one)] if unnamed else None
        if names is None:
            return None
        found += names
    return found


def star_names(star: exp.Expr, select: exp.Select, context: RewriteContext) -> list[str] | None:
    """What `*` or `t.*` of a SELECT stands for; none where only the engine knows."""
    table = star.table.casefold() if isinstance(star, exp.Column) else None
    said = star.this if isinstance(star, exp.Column) else star
    if said.args.get("rename"):
        return None
    hidden = {column.name.casefold() for column in said.args.get("except_") or []}
    found: list[str] = []
    for source in sources_of(select):
        if table is None or source.alias_or_name.casefold() == table:
            names = names_of(source, context)
            if names is None:
                return None
            found += [name for name in names if name.casefold() not in hidden]
    return found


def is_outer(column: exp.Column, query: exp.Expr, context: RewriteContext) -> bool:
    """Whether a column inside a query belongs to what stands around it."""
    select = column.find_ancestor(exp.Select)
    while select is not None and _within(select, query):
        for source in sources_of(select):
            if column.table:
                if source.alias_or_name.casefold() == column.table.casefold():
                    return False
                continue
            names = columns_of(source, context)
            if names is None or column.name.casefold() in names:
                return False
        select = select.find_ancestor(exp.Select)
    return True


def belongs_to(column: exp.Column, select: exp.Select, context: RewriteContext) -> bool:
    """Whether a column, perhaps of a query inside a SELECT, is one of the SELECT's sources."""
    inside = column.find_ancestor(exp.Select)
    while inside is not None and inside is not select:
        if not is_outer(column, inside, context):
            return False
        inside = inside.find_ancestor(exp.Select)
    return True


def is_correlated(query: exp.Expr, context: RewriteContext) -> bool:
    """Whether a query needs the row of a query around it."""
    return any(is_outer(column, query, context) for column in query.find_all(exp.Column))


def qualified(expression: exp.Expr, select: exp.Select, context: RewriteContext) -> exp.Expr:
    """A copy whose columns say which source of the SELECT they are of, where that is known."""
    found = expression.copy()
    sources = sources_of(select)
    for column in list(found.find_all(exp.Column)):
        if column.table:
            continue
        if len(sources) == 1:
            owners = sources
        else:
            names = [(source, columns_of(source, context)) for source in sources]
            owners = [s for s, known in names if known and column.name.casefold() in known]
        if len(owners) == 1 and owners[0].alias_or_name:
            column.set("table", exp.to_identifier(owners[0].alias_or_name, quoted=True))
    return found


def rename_sources(
    query: exp.Expr, taken: Iterable[str], suffix: str, context: RewriteContext
) -> None:
    """Call the sources of a SELECT that have one of these names otherwise, wherever it says so."""
    assert isinstance(query, exp.Select)
    names = {name.casefold() for name in taken if name}
    for source in sources_of(query):
        old = source.alias_or_name.casefold()
        if old not in names:
            continue
        new = f"{old} {suffix}"
        for column in list(query.find_all(exp.Column)):
            if column.table.casefold() == old and belongs_to(column, query, context):
                column.set("table", quoted(new))
        alias = source.args.get("alias")
        named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        source.set("alias", exp.TableAlias(this=quoted(new), columns=named))
        if old in context.sources:
            context.sources[new.casefold()] = context.sources[old]


def _within(node: exp.Expr, query: exp.Expr) -> bool:
    current: exp.Expr | None = node
    while current is not None:
        if current is query:
            return True
        current = current.parent
    return False


def _given(query: exp.Expr | None) -> frozenset[str] | None:
    if not isinstance(query, exp.Query) or any(select.is_star for select in query.selects):
        return None
    return frozenset(select.alias_or_name.casefold() for select in query.selects)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The part of a WITH that a table names."""
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            for cte in with_.expressions:
                if cte.alias.casefold() == table.name.casefold():
                    found: exp.CTE = cte
                    return found
        node = node.parent
    return None


def query_of_with(table: exp.Table) -> exp.Expr | None:
    """The query of the WITH that a table names, where the query names the columns."""
    cte = cte_of(table)
    return None if cte is None or cte.args["alias"].args.get("columns") else cte.this
