"""The dependent join of a correlated subquery with its domain.

A correlated subquery has a result for every row around it. The dependent join gives all of them in
one query: the distinct values of the outer columns (the domain) are its first source, and what it
computes over its rows (groups, windows, LIMIT) it computes for each row of the domain apart. The
domain's columns come last, and say to which row a result belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import called, column_of, derived_table, quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.projection_names import hide_from_stars, named, projection_called
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.subqueries.lift_above_aggregation import (
    is_aggregated,
    lift_above_aggregation,
    name_groups,
)

_COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)
"""Aggregates that are 0 and not null where there are no rows."""
_GROUPS = "groups"


class CannotDecorrelate(Exception):
    """The subquery has a shape that is not decorrelated."""


@dataclass(frozen=True)
class Domain:
    """The distinct values of the outer columns of a correlated subquery."""

    rows: exp.Select
    alias: str
    keys: tuple[str, ...]

    def column(self, key: str) -> exp.Column:
        """One of its columns, where the domain is a source."""
        return column_of(self.alias, key)

    def columns(self) -> list[exp.Column]:
        """All of them."""
        return [self.column(key) for key in self.keys]

    def source(self) -> exp.Subquery:
        """The domain as the source of a SELECT."""
        return derived_table(self.rows.copy(), self.alias)

    def named(self, name: str) -> str:
        """A name for what is computed for this domain only."""
        return f"{name} of {self.alias}"

    def matches(self, table: str, columns: Sequence[exp.Expr]) -> exp.Expr:
        """That a table's row belongs to the row of some columns, nulls included."""
        pairs = zip(self.keys, columns, strict=True)
        return exp.and_(
            *(exp.NullSafeEQ(this=column_of(table, key), expression=c.copy()) for key, c in pairs)
        )


def dependent_join(query: exp.Query, domain: Domain, context: RewriteContext) -> exp.Query:
    """The rows of a query for each row of a domain, whose columns the query names already."""
    if isinstance(query, exp.Subquery) and not query.alias:
        return dependent_join(query.this, domain, context)
    limit, offset = _popped(query, "limit"), _popped(query, "offset")
    order: exp.Expr | None = query.args.get("order")
    query.set("order", None)
    limited = limit is not None or offset is not None
    keys = order.expressions if order is not None and limited else []
    joined: exp.Query
    hidden: list[str] = []
    if isinstance(query, exp.SetOperation):
        sorts = [_sorted_output(key, query) for key in keys]
        joined = _join_sides(query, domain, context)
    elif isinstance(query, exp.Select):
        sorts = _sort_columns(query, keys, domain)
        hidden = [key.this.name for key in sorts]
        joined = _join_select(query, domain, context)
    else:
        raise CannotDecorrelate
    return _limited(joined, domain, sorts, hidden, limit, offset) if limited else joined


def is_one_row(query: exp.Expr) -> bool:
    """Whether a query gives at most one row, whatever its tables hold."""
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(1):
        return True
    if not isinstance(query, exp.Select) or query.args.get("group"):
        return False
    return is_aggregated(query) or not query.args.get("from_")


def lift_having(select: exp.Select, context: RewriteContext) -> exp.Select:
    """`lift_above_aggregation`, with HAVING as a WHERE over the groups; gives their SELECT."""
    having = select.args.get("having")
    select.set("having", None)
    select.set("expressions", [named(one) for one in select.expressions])
    if having is not None:
        select.append("expressions", called(having.this, "having"))
    groups = lift_above_aggregation(select, context)
    if having is not None:
        *results, condition = select.expressions
        select.set("expressions", results)
        select.where(condition.this, copy=False)
    return groups


def _popped(query: exp.Expr, clause: str) -> exp.Expr | None:
    """The count of LIMIT or OFFSET, taken away; none where there is none."""
    given = query.args.get(clause)
    query.set(clause, None)
    if given is None:
        return None
    if not isinstance(given, exp.Limit | exp.Offset) or given.expression is None:
        raise CannotDecorrelate
    count: exp.Expr = given.expression
    return None if isinstance(count, exp.Null) or count.name.upper() == "ALL" else count


# --------------------------------------------------------------------------- SELECT


def _join_select(select: exp.Select, domain: Domain, context: RewriteContext) -> exp.Select:
    if select.args.get("windows") or select.args.get("laterals") or _is_distinct_on(select):
        raise CannotDecorrelate
    if any(join.side in ("RIGHT", "FULL") for join in select.args.get("joins") or []):
        raise CannotDecorrelate
    name_groups(select)
    for window in find_all(select, exp.Window):
        if window.find_ancestor(exp.Select) is select:
            parts = window.args.get("partition_by") or []
            window.set("partition_by", [*parts, *domain.columns()])
    group = select.args.get("group")
    if group is not None:
        if group.find(exp.Rollup, exp.Cube, exp.GroupingSets) or group.args.get("totals"):
            raise CannotDecorrelate
        group.set("expressions", [*group.expressions, *domain.columns()])
        _put_first(select, domain)
    elif is_aggregated(select):
        _one_group_each(select, domain, context)
    else:
        _put_first(select, domain)
    _give_keys(select, domain)
    return select


def _is_distinct_on(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    return isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None


def _put_first(select: exp.Select, domain: Domain) -> None:
    """The domain as the first source, so that every other one may be about its rows."""
    from_ = select.args.get("from_")
    joins = list(select.args.get("joins") or [])
    if from_ is not None:
        joins.insert(0, exp.Join(this=from_.this, kind="CROSS"))
    select.set("from_", exp.From(this=domain.source()))
    select.set("joins", joins)


def _give_keys(select: exp.Select, domain: Domain) -> None:
    hide_from_stars(select, domain.keys)
    keys = [exp.alias_(domain.column(key), key, quoted=True) for key in domain.keys]
    select.set("expressions", [*select.expressions, *keys])


def _one_group_each(select: exp.Select, domain: Domain, context: RewriteContext) -> None:
    """An aggregate of all rows has a row also where there are none: nulls, and counts of 0."""
    groups = lift_having(select, context)
    _put_first(groups, domain)
    groups.set("group", exp.Group(expressions=list(domain.columns())))
    counts = {one.alias for one in groups.expressions if isinstance(_aggregate(one.this), _COUNTS)}
    _give_keys(groups, domain)
    for column in list(find_all(select, exp.Column)):
        if column.table == _GROUPS and column.name in counts:
            zero = exp.Literal.number(0)
            column.replace(exp.Coalesce(this=column.copy(), expressions=[zero]))
    joined = exp.Join(
        this=select.args["from_"].this, side="LEFT", on=domain.matches(_GROUPS, domain.columns())
    )
    select.set("from_", exp.From(this=domain.source()))
    select.set("joins", [joined])


def _aggregate(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.Distinct):
        node = node.this
    return node


# --------------------------------------------------------------------------- UNION and its like


def _join_sides(query: exp.SetOperation, domain: Domain, context: RewriteContext) -> exp.Query:
    if query.args.get("by_name") or query.args.get("on"):
        raise CannotDecorrelate
    query.set("this", dependent_join(query.this, domain, context))
    query.set("expression", dependent_join(query.expression, domain, context))
    return query


# --------------------------------------------------------------------------- ORDER BY and LIMIT


def _sort_columns(select: exp.Select, keys: Sequence[exp.Expr], domain: Domain) -> list[exp.Expr]:
    """Give out what is sorted by under names of its own; the sort keys by these names."""
    sorts: list[exp.Expr] = []
    outputs = list(select.expressions)
    distinct = select.args.get("distinct") is not None
    for position, key in enumerate(keys):
        meant = _meant(key.this, outputs)
        name = domain.named(f"sort {position}")
        if distinct and not any(meant == output.unalias() for output in outputs):
            raise CannotDecorrelate
        select.append("expressions", exp.alias_(meant.copy(), name, quoted=True))
        sorts.append(_ordered(key, name))
    return sorts


def _meant(key: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """What is sorted by: a number is a position, an alias stands for what it names."""
    if isinstance(key, exp.Literal) and key.is_int:
        position = int(key.name) - 1
        if not 0 <= position < len(outputs) or any(one.is_star for one in outputs[: position + 1]):
            raise CannotDecorrelate
        meant: exp.Expr = outputs[position].unalias()
        return meant
    return projection_called(key, outputs) or key


def _sorted_output(key: exp.Expr, query: exp.SetOperation) -> exp.Expr:
    names = [one.alias_or_name for one in query.selects]
    output = key.this
    if isinstance(output, exp.Literal) and output.is_int and 0 < int(output.name) <= len(names):
        return _ordered(key, names[int(output.name) - 1])
    for name in names:
        if isinstance(output, exp.Column) and name.casefold() == output.name.casefold():
            return _ordered(key, name)
    raise CannotDecorrelate


def _ordered(key: exp.Expr, name: str) -> exp.Expr:
    ordered = key.copy()
    ordered.set("this", column_of(None, name))
    return ordered


def _limited(
    query: exp.Query,
    domain: Domain,
    sorts: Sequence[exp.Expr],
    hidden: Sequence[str],
    limit: exp.Expr | None,
    offset: exp.Expr | None,
) -> exp.Select:
    """LIMIT and OFFSET for each row of the domain; the hidden columns are left out."""
    if limit == exp.Literal.number(0) and not sorts:  # none: not some that nothing decides
        return exp.select("*").from_(derived_table(query, domain.named("rows"))).where(exp.false())
    position = domain.named("position")
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column_of(None, key) for key in domain.keys],
        order=exp.Order(expressions=list(sorts)) if sorts else None,
        over="OVER",
    )
    rows = derived_table(query, domain.named("rows"))
    numbered = exp.select("*", called(number, position)).from_(rows)
    star = exp.Star(except_=[quoted(name) for name in (*hidden, position)])
    select = exp.Select(expressions=[star]).from_(derived_table(numbered, domain.named("numbered")))
    if offset is not None:
        select.where(column_of(None, position) > _count(offset), copy=False)
    if limit is not None:
        last = _count(limit) if offset is None else _count(offset) + _count(limit)
        select.where(column_of(None, position) <= last, copy=False)
    return select


def _count(value: exp.Expr) -> exp.Expr:
    return exp.cast(exp.paren(value.copy()), exp.DataType.Type.BIGINT)
