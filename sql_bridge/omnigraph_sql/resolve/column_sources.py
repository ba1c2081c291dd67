"""The scope of a SELECT: its sources, the columns of each, and whose column a name is.

All passes resolve names by these rules: an alias list names the columns of its source; a name of a
WITH gives what its query gives; of a query, stars are written out; what only DataFusion knows is
not known here (None), and such a source may have any column.

The tree is read as it stands, and only where a pass needs it. sqlglot's `traverse_scope` makes a
picture of the whole statement (0.3 ms for a short one, a quarter of its rewriting), which a pass
that changes the tree would have to make anew after every change.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.projection_names import result_name
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM and in the joins of a SELECT."""
    from_ = select.args.get("from_")
    joins = select.args.get("joins") or []
    laterals = select.args.get("laterals") or []
    return [*([from_.this] if from_ else []), *(join.this for join in joins), *laterals]


# --------------------------------------------------------------------------- columns of a source


def columns_of(source: exp.Expr, context: RewriteContext) -> list[str] | None:
    """The names of a source's columns in their order; none where only DataFusion knows them."""
    named = alias_columns(source)
    if named:
        return named
    if source.args.get("joins") or source.args.get("pivots"):
        return None
    if isinstance(source, exp.Table):
        registered = context.registered.get(source.name)
        if registered is not None:
            return list(registered.names)
        cte = cte_of(source)
        if cte is not None and (named := alias_columns(cte)):
            return named
    return result_columns(query_of(source), context)


def alias_columns(source: exp.Expr) -> list[str]:
    """The columns that an alias names: `t(a, b)`."""
    alias = source.args.get("alias")
    named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return [column.name for column in named or []]


def first_select(query: exp.Expr | None) -> exp.Select | None:
    """The SELECT that names the columns of a query: the first one of a UNION and its like."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return query if isinstance(query, exp.Select) else None


def query_of(source: exp.Expr) -> exp.Expr | None:
    """The query whose rows a source gives: a derived table, one of a WITH, or VALUES."""
    if isinstance(source, exp.Values):
        return source
    if isinstance(source, exp.Subquery):
        derived: exp.Expr = source.this
        return derived
    cte = cte_of(source) if isinstance(source, exp.Table) else None
    return cte.this if cte is not None else None


def result_columns(query: exp.Expr | None, context: RewriteContext) -> list[str] | None:
    """The names of a query's columns, stars written out; none where only DataFusion knows."""
    select = first_select(query)
    if select is None:
        return None
    names: list[str] = []
    for projection in select.expressions:
        if projection.is_star:
            shown = _star_columns(projection, select, context)
            if shown is None:
                return None
            names += shown
        else:
            names.append(projection.alias or result_name(projection))
    return names


def _star_columns(star: exp.Expr, select: exp.Select, context: RewriteContext) -> list[str] | None:
    """What `*` or `t.*` of a SELECT stands for; none where only DataFusion knows."""
    table = star.table.casefold() if isinstance(star, exp.Column) else None
    options = star.this if isinstance(star, exp.Column) else star
    if options.args.get("rename"):
        return None
    hidden = {column.name.casefold() for column in options.args.get("except_") or []}
    shown: list[str] = []
    for source in sources_of(select):
        if table is None or source.alias_or_name.casefold() == table:
            names = columns_of(source, context)
            if names is None:
                return None
            shown += [name for name in names if name.casefold() not in hidden]
    return shown


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The part of a WITH that a name means: one before it in the same WITH, or of a WITH around."""
    if table.args.get("db") or not isinstance(table.this, exp.Identifier):
        return None
    name, below = table.name.casefold(), {id(table)}
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        recursive = isinstance(with_, exp.With) and with_.args.get("recursive")
        for cte in with_.expressions if isinstance(with_, exp.With) else []:
            if id(cte) in below and not recursive:
                break
            if cte.alias.casefold() == name:
                found: exp.CTE = cte
                return found
        below.add(id(node))
        node = node.parent
    return None


# --------------------------------------------------------------------------- owners of a column


def owner_of(name: str, table: str, select: exp.Select, context: RewriteContext) -> exp.Expr | None:
    """The source of a SELECT that a name, perhaps of a table, is a column of; none if unclear.

    It is the one that is called so, else the one that is known to have the column, else the only
    one.
    """
    sources = sources_of(select)
    if table:
        owners = [s for s in sources if s.alias_or_name.casefold() == table.casefold()]
    else:
        known = [(source, columns_of(source, context)) for source in sources]
        owners = [source for source, columns in known if columns and _has(columns, name)]
        if len(sources) == 1 and known[0][1] is None:
            owners = sources
    return owners[0] if len(owners) == 1 else None


def may_own(source: exp.Expr, column: exp.Column, context: RewriteContext) -> bool:
    """Whether a column may be one of a source: it says so, or the source may have its name."""
    if column.table:
        return source.alias_or_name.casefold() == column.table.casefold()
    columns = columns_of(source, context)
    return columns is None or _has(columns, column.name)


def _has(columns: Iterable[str], name: str) -> bool:
    folded = name.casefold()
    return any(column.casefold() == folded for column in columns)


def is_outer(column: exp.Column, query: exp.Expr, context: RewriteContext) -> bool:
    """Whether a column inside a query belongs to what stands around it."""
    select = column.find_ancestor(exp.Select)
    while select is not None and _is_within(select, query):
        if any(may_own(source, column, context) for source in sources_of(select)):
            return False
        select = select.find_ancestor(exp.Select)
    return True


def _is_within(node: exp.Expr, query: exp.Expr) -> bool:
    current: exp.Expr | None = node
    while current is not None and current is not query:
        current = current.parent
    return current is query


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
    return any(is_outer(column, query, context) for column in find_all(query, exp.Column))


def qualified(expression: exp.Expr, select: exp.Select, context: RewriteContext) -> exp.Expr:
    """A copy whose columns say which source of the SELECT they are of, where that is known."""
    copy = expression.copy()
    for column in list(find_all(copy, exp.Column)):
        owner = None if column.table else owner_of(column.name, "", select, context)
        if owner is not None and owner.alias_or_name:
            column.set("table", quoted(owner.alias_or_name))
    return copy


def rename_sources(
    query: exp.Expr, names: Iterable[str], suffix: str, context: RewriteContext
) -> None:
    """Call the sources of a SELECT that have one of these names otherwise, wherever it says so."""
    assert isinstance(query, exp.Select)
    folded = {name.casefold() for name in names if name}
    for source in sources_of(query):
        old = source.alias_or_name.casefold()
        if old not in folded:
            continue
        new = f"{old} {suffix}"
        for column in list(find_all(query, exp.Column)):
            if column.table.casefold() == old and belongs_to(column, query, context):
                column.set("table", quoted(new))
        columns = [quoted(name) for name in alias_columns(source)]
        source.set("alias", exp.TableAlias(this=quoted(new), columns=columns or None))
        if old in context.sources:
            context.sources[new.casefold()] = context.sources[old]
