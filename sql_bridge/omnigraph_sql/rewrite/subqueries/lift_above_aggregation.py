"""A grouped SELECT as one over its groups, so that its results can be joined like any rows."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import column_of, quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import belongs_to, columns_of, sources_of
from omnigraph_sql.resolve.projection_names import projection_called
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_GROUPS = "groups"
_BELOW = ("from_", "joins", "laterals", "where", "group", "having")


def is_aggregated(select: exp.Select) -> bool:
    """Whether a SELECT gives groups and not the rows of its sources."""
    if select.args.get("group"):
        return True
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return any(_aggregates(clause, select) for clause in clauses if clause is not None)


def name_groups(select: exp.Select) -> None:
    """GROUP BY ALL groups by every column that is no aggregate; say which ones they are."""
    group = select.args.get("group")
    if group is None or not group.args.get("all"):
        return
    positions = [i for i, one in enumerate(select.expressions, 1) if not _aggregates(one, select)]
    group.set("all", None)
    group.set("expressions", [exp.Literal.number(position) for position in positions])
    if not positions:
        select.set("group", None)


def is_below(node: exp.Expr, select: exp.Select) -> bool:
    """Whether an expression is evaluated before rows are grouped."""
    current = node.parent
    while current is not None and current is not select:
        if isinstance(current, exp.Group) or _is_aggregate(current):
            return True
        current = current.parent
    return False


def lift_above_aggregation(select: exp.Select, context: RewriteContext) -> exp.Select:
    """Put the grouping into a derived table; the SELECT itself then only computes with groups.

    Gives the SELECT of the groups.
    """
    keys = _keys(select, context)
    aggregates: list[exp.Expr] = []
    for clause in [*select.expressions, *(select.args.get(k) for k in ("order", "qualify"))]:
        for aggregate in _aggregates(clause, select) if clause is not None else []:
            if aggregate not in aggregates:
                aggregates.append(aggregate)
    inner = exp.Select(
        expressions=[
            *(exp.alias_(key.copy(), f"key {i}", quoted=True) for i, key in enumerate(keys)),
            *(exp.alias_(a.copy(), f"value {i}", quoted=True) for i, a in enumerate(aggregates)),
        ]
    )
    for projection in list(select.expressions):  # results keep the names they have
        if isinstance(projection, exp.Column):
            projection.replace(exp.alias_(projection.copy(), projection.name, quoted=True))
    for clause in (*select.expressions, select.args.get("order"), select.args.get("qualify")):
        if clause is not None:
            _replace(clause, keys, aggregates, select, context)
    for name in _BELOW:
        inner.set(name, select.args.get(name))
        select.set(name, None)
    select.set("from_", exp.From(this=inner.subquery(quoted(_GROUPS), copy=False)))
    return inner


def _keys(select: exp.Select, context: RewriteContext) -> list[exp.Expr]:
    group = select.args.get("group")
    if group is None:
        return []
    found: list[exp.Expr] = list(group.expressions)
    for kind in ("rollup", "cube", "grouping_sets"):
        for entry in group.args.get(kind) or []:
            found.extend(find_all(entry, exp.Column))
    known = {
        name.casefold()
        for source in sources_of(select)
        for name in columns_of(source, context) or []
    }
    keys: list[exp.Expr] = []
    for key in found:
        meant = _meant(key, select, known)
        if key is not meant:
            key.replace(meant.copy())
        if meant not in keys:
            keys.append(meant)
    return keys


def _meant(key: exp.Expr, select: exp.Select, known: set[str]) -> exp.Expr:
    """The expression of a key: a number is a position, an alias stands for what it names."""
    if isinstance(key, exp.Literal) and key.is_int:
        numbered: exp.Expr = select.expressions[int(key.name) - 1].unalias()
        return numbered
    named = key.name.casefold() not in known
    return (projection_called(key, select.expressions) if named else None) or key


def _replace(
    clause: exp.Expr,
    keys: list[exp.Expr],
    aggregates: list[exp.Expr],
    select: exp.Select,
    context: RewriteContext,
) -> None:
    named = [(key, f"key {i}") for i, key in enumerate(keys)]
    named += [(aggregate, f"value {i}") for i, aggregate in enumerate(aggregates)]
    for node in list(clause.walk()):
        if node is clause and isinstance(clause, exp.Alias):
            continue
        name = next((name for grouped, name in named if _same(grouped, node)), None)
        if name is None or not _is_of(node, select, context):
            continue
        node.replace(column_of(_GROUPS, name))


def _is_of(node: exp.Expr, select: exp.Select, context: RewriteContext) -> bool:
    """Whether an expression, perhaps of a query inside a SELECT, is computed by the SELECT."""
    if node.find_ancestor(exp.Select) is select:
        return True
    columns = list(find_all(node, exp.Column))
    return bool(columns) and all(belongs_to(column, select, context) for column in columns)


def _same(grouped: exp.Expr, node: exp.Expr) -> bool:
    if isinstance(grouped, exp.Column) and isinstance(node, exp.Column):
        tables = {grouped.table.casefold(), node.table.casefold()} - {""}
        return grouped.name.casefold() == node.name.casefold() and len(tables) < 2
    return grouped == node


def _aggregates(clause: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """The aggregates of an expression, not those that are windows or belong to inner queries."""
    return [
        node
        for node in find_all(clause, exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Grouping)
        if _is_aggregate(node)
        and node.find_ancestor(exp.Select) is select
        and not is_below(node, select)
    ]


def _is_aggregate(node: exp.Expr) -> bool:
    if not isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.Grouping):
        return False
    return not isinstance(node.parent, exp.Window)
