"""JOIN … USING and NATURAL JOIN as joins with conditions.

DataFusion has USING, but takes the joined column from one side whatever the join: after LEFT JOIN,
`*` gives the nulls of the right side, and after FULL JOIN the name means the left side only.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import called, column_of
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import belongs_to, columns_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext


@dataclass(frozen=True)
class _Visible:
    """A column that a SELECT's sources give under a name."""

    name: str
    value: exp.Expr
    merged: bool = False

    def is_called(self, name: str) -> bool:
        return self.name.casefold() == name.casefold()


def expand_using(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Write out the conditions, what the joined names mean, and `*`; the innermost first.

    SELECT * FROM (SELECT 1 AS a, 2 AS b) AS l LEFT JOIN (SELECT 1 AS a) AS r USING (a)
    -> SELECT "l"."a" AS "a", "l"."b" AS "b" FROM (SELECT 1 AS a, 2 AS b) AS l LEFT JOIN (SELECT 1
    AS a) AS r ON "l"."a" = "r"."a"
    """
    for select in reversed(list(find_all(tree, exp.Select))):
        joins = select.args.get("joins") or []
        if any(join.args.get("using") or join.method == "NATURAL" for join in joins):
            _expand(select, context)
    return tree


def _expand(select: exp.Select, context: RewriteContext) -> None:
    joins = select.args["joins"]
    from_ = select.args.get("from_")
    sources = [from_.this if from_ else None, *(join.this for join in joins)]
    named = [columns_of(source, context) if source is not None else None for source in sources]
    if select.args.get("laterals") or any(names is None for names in named):
        return  # only DataFusion knows them
    visible: list[_Visible] = []
    conditions: list[exp.Expr | None] = [None]
    for position, (source, names) in enumerate(zip(sources, named, strict=True)):
        assert source is not None and names is not None
        mine = [_Visible(name, column_of(source.alias_or_name, name)) for name in names]
        using = _using(joins[position - 1], visible, mine) if position else []
        merged = _merged(joins[position - 1], using, visible, mine) if position else mine
        if merged is None:
            return  # a name that is not there, or twice: DataFusion says so
        if position:
            conditions.append(_condition(using, visible, mine))
        visible = merged
    for join, condition in zip(joins, conditions[1:], strict=True):
        if condition is not None:
            join.set("using", None)
            join.set("on", condition)
        elif join.method == "NATURAL" and (join.side or join.kind in ("SEMI", "ANTI")):
            join.set("on", exp.true())
        elif join.method == "NATURAL":
            join.set("kind", "CROSS")
        join.set("method", None)
    _replace_merged(select, [one for one in visible if one.merged], context)
    _expand_stars(select, visible)


def _using(join: exp.Join, left: list[_Visible], right: list[_Visible]) -> list[str]:
    if join.method == "NATURAL":
        return [one.name for one in left if any(one.is_called(other.name) for other in right)]
    return [column.name for column in join.args.get("using") or []]


def _merged(
    join: exp.Join, using: list[str], left: list[_Visible], right: list[_Visible]
) -> list[_Visible] | None:
    """What is visible after a join: the joined columns first, then the others of both sides."""
    joined: list[_Visible] = []
    for name in using:
        ours = [one for one in left if one.is_called(name)]
        theirs = [one for one in right if one.is_called(name)]
        if len(ours) != 1 or len(theirs) != 1:
            return None
        value = theirs[0].value if join.side == "RIGHT" else ours[0].value
        if join.side == "FULL":
            value = exp.Coalesce(this=ours[0].value.copy(), expressions=[theirs[0].value.copy()])
        joined.append(_Visible(ours[0].name, value, merged=True))
    if join.kind in ("SEMI", "ANTI"):
        right = []
    rest = [*left, *right]
    return [*joined, *(one for one in rest if not any(one.is_called(name) for name in using))]


def _condition(using: list[str], left: list[_Visible], right: list[_Visible]) -> exp.Expr | None:
    pairs = [
        exp.EQ(
            this=next(one for one in left if one.is_called(name)).value.copy(),
            expression=next(one for one in right if one.is_called(name)).value.copy(),
        )
        for name in using
    ]
    return exp.and_(*pairs) if pairs else None


def _replace_merged(select: exp.Select, merged: list[_Visible], context: RewriteContext) -> None:
    """Put what a joined name means in its place; what is sorted by a result's name stays so."""
    order = select.args.get("order")
    results = {one.alias_or_name.casefold() for one in select.expressions if _is_named(one)}
    if any(isinstance(one, exp.Star) for one in select.expressions):
        results |= {one.name.casefold() for one in merged}
    for column in list(find_all(select, exp.Column)):
        if column.table or column.is_star:
            continue
        meant = next((one for one in merged if one.is_called(column.name)), None)
        if meant is None or not belongs_to(column, select, context):
            continue
        key = column.parent
        sorting = order is not None and isinstance(key, exp.Ordered) and key.parent is order
        if sorting and column.name.casefold() in results:
            continue
        value = meant.value.copy()
        if column.parent is select and column.arg_key == "expressions":
            value = called(value, column.name)
        column.replace(value)


def _is_named(result: exp.Expr) -> bool:
    """Whether a result can be sorted by its name: it has an alias, or is a column by itself."""
    return isinstance(result, exp.Alias) or (isinstance(result, exp.Column) and not result.table)


def _expand_stars(select: exp.Select, visible: list[_Visible]) -> None:
    results: list[exp.Expr] = []
    for one in select.expressions:
        if not isinstance(one, exp.Star):
            results.append(one)
            continue
        hidden = {name.name.casefold() for name in one.args.get("except_") or []}
        other = {alias.alias.casefold(): alias.this for alias in one.args.get("replace") or []}
        results += [
            called(other.get(column.name.casefold(), column.value).copy(), column.name)
            for column in visible
            if column.name.casefold() not in hidden
        ]
    select.set("expressions", results)
