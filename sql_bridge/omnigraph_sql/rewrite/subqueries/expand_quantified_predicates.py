"""Quantified predicates (IN, ANY, ALL, EXISTS) in any place, in three-valued logic.

DataFusion evaluates such a predicate only where a row is kept or dropped for it, and takes unknown
for false wherever the predicate is not a condition of its own. So it becomes EXISTS, whose two
truth values DataFusion gets right, in a form that depends on its place:

- where only truth matters (WHERE, HAVING and ON, through AND, OR and NOT) unknown counts as what
  makes the condition fail;
- everywhere else the three truth values are distinguished by CASE;
- outside of conditions the truth value is a column of its own: every row is joined with the
  possible ones, and the right one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.conjuncts import COMPARISONS, conjuncts
from omnigraph_sql.frontend.identifiers import column_of, derived_table, quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import (
    belongs_to,
    columns_of,
    is_correlated,
    owner_of,
    qualified,
    rename_sources,
    sources_of,
)
from omnigraph_sql.resolve.projection_names import hide_from_stars, keep_name
from omnigraph_sql.resolve.rewrite_context import THREE_VALUED, RewriteContext
from omnigraph_sql.rewrite.subqueries.correlated_subqueries import limits_rows
from omnigraph_sql.rewrite.subqueries.lift_above_aggregation import (
    is_aggregated,
    is_below,
    lift_above_aggregation,
    name_groups,
)

_LEAST_DECIDES = {exp.GT: True, exp.GTE: True, exp.LT: False, exp.LTE: False}
"""Whether ANY of these holds if it holds for the least value; else for the greatest."""


@dataclass(frozen=True)
class _Quantified:
    """A comparison that holds for any row of a query, or with `all_` for every row."""

    node: exp.Expr
    query: exp.Query
    operands: tuple[exp.Expr, ...]
    comparison: type[exp.Binary]
    all_: bool
    correlated: bool

    @property
    def plain(self) -> bool:
        """Whether it is `x IN (…)`, which DataFusion itself has."""
        return isinstance(self.node, exp.In) and len(self.operands) == 1


def expand_quantified_predicates(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Write them as EXISTS in every SELECT, the innermost first.

    SELECT p.name FROM person AS p WHERE p.age < ANY (SELECT i.price FROM item AS i)
    -> SELECT p.name FROM person AS p WHERE (COALESCE(p.age < (SELECT MAX("rows 0 of 1"."rows 0 of
    1.0") FROM (SELECT i.price FROM item AS i) AS "rows 0 of 1"("rows 0 of 1.0")), FALSE))
    """
    numbers = count(1)
    for select in reversed(list(find_all(tree, exp.Select))):
        if not any(_predicates(select)):
            continue
        for node in list(_predicates(select)):
            keep_name(node, select)
        name_groups(select)
        if is_aggregated(select) and any(_is_above(node, select) for node in _predicates(select)):
            _expand_in(lift_above_aggregation(select, context), context, numbers)
        _expand_in(select, context, numbers)
    return tree


def _expand_in(select: exp.Select, context: RewriteContext, numbers: Iterator[int]) -> None:
    _move_join_conditions(select, context)
    pending = list(_predicates(select))
    aliases: dict[str, str] = {}
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Exists):
            _evaluate_once(node, select, context)
            continue
        predicate = _quantified(node, context)
        if predicate is not None:
            alias = aliases.setdefault(node.sql(), f"rows {len(aliases)} of {next(numbers)}")
            pending.extend(_expand(predicate, select, context, alias))
    _join_truth_values(select, numbers)


def _is_above(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a predicate is evaluated after grouping, and no condition."""
    in_join = isinstance(node.find_ancestor(exp.Join, exp.Select), exp.Join)
    return not (is_below(node, select) or _in_condition(node) or in_join)


def _predicates(select: exp.Select) -> Iterator[exp.Expr]:
    for node in find_all(select, exp.In, exp.Exists, *COMPARISONS):
        if node.find_ancestor(exp.Select) is not select:
            continue
        if isinstance(node, exp.In) and node.args.get("query") is None:
            continue
        if isinstance(node, COMPARISONS) and not isinstance(node.expression, exp.Any | exp.All):
            continue
        yield node


def _quantified(node: exp.Expr, context: RewriteContext) -> _Quantified | None:
    """A predicate over a query; none where it is one over a list."""
    query = node.args["query"] if isinstance(node, exp.In) else node.expression.this
    while isinstance(query, exp.Subquery | exp.Paren) and not query.alias:
        query = query.this
    if not isinstance(query, exp.Query):
        return None
    left = node.this.unnest()
    operands = tuple(left.expressions) if isinstance(left, exp.Tuple) else (left,)
    _name_the_star(query, context)
    comparison = exp.EQ if isinstance(node, exp.In) else type(node)
    assert issubclass(comparison, exp.Binary)
    all_ = isinstance(node.args.get("expression"), exp.All)
    return _Quantified(node, query, operands, comparison, all_, is_correlated(query, context))


def _name_the_star(query: exp.Query, context: RewriteContext) -> None:
    """`SELECT *` from a source of one known column gives that column."""
    sources = sources_of(query) if isinstance(query, exp.Select) else []
    if len(sources) == 1 and [str(column) for column in query.selects] == ["*"]:
        names = columns_of(sources[0], context)
        if names is not None and len(names) == 1:
            query.set("expressions", [exp.column(names[0].casefold())])


# --------------------------------------------------------------------------- one predicate


def _expand(
    predicate: _Quantified, select: exp.Select, context: RewriteContext, alias: str
) -> list[exp.Expr]:
    """Put what DataFusion evaluates in the place of a predicate; gives what is left to expand."""
    polarity, conjunct = _place(predicate.node)
    if predicate.all_ and polarity is not None:
        polarity = not polarity
    compound = predicate.correlated and not _is_plain(predicate.query)
    if compound and (simplified := _simplified(predicate)) is not None:
        return simplified
    united = predicate.correlated and isinstance(predicate.query, exp.Union)
    if predicate.plain and polarity is True and not united:
        return []  # DataFusion's own IN: unknown is as good as false
    if compound:
        raise InvalidInput(
            "a correlated IN, ANY or ALL subquery has a window, LIMIT, GROUP BY or *",
            hint="Join the subquery instead, or leave the outer columns out of it.",
        )
    compares_column = predicate.plain and predicate.node.this.find(exp.Column) is not None
    if compares_column and polarity is False and conjunct and not predicate.correlated:
        return []  # its own NOT IN as a condition of its own knows about nulls
    operands = tuple(qualified(x, select, context) for x in predicate.operands)
    if predicate.correlated:
        # What is compared goes into the query, where the same alias would mean another table.
        tables = {column.table for operand in operands for column in find_all(operand, exp.Column)}
        rename_sources(predicate.query, tables, alias, context)
    rows = _Rows(predicate, operands, alias)
    truth = true = rows.extreme() or rows.some(rows.matches())
    if polarity is False:
        truth = exp.or_(true, rows.unknown())
    elif polarity is None:
        truth = _three_valued(true, rows.unknown())
    truth = exp.paren(truth)
    predicate.node.replace(exp.paren(exp.not_(truth)) if predicate.all_ else truth)
    return []


def _simplified(predicate: _Quantified) -> list[exp.Expr] | None:
    """A predicate over simpler queries, where its query is correlated and has several parts.

    Gives what is left to expand; none where it is not made of simpler ones.
    """
    query, node = predicate.query, predicate.node
    whole = any(query.args.get(clause) for clause in ("limit", "offset", "with_"))
    if isinstance(query, exp.Union) and not whole:
        parts = []
        for side in (query.this, query.expression):
            part = node.copy()
            subquery = part.args["query"] if isinstance(part, exp.In) else part.expression
            subquery.set("this", side.copy())
            parts.append(part)
        connected = exp.and_(*parts, copy=False) if predicate.all_ else exp.or_(*parts, copy=False)
        node.replace(exp.paren(connected, copy=False))
        return parts
    if _is_one_row(query) and len(predicate.operands) == 1:
        node.replace(exp.paren(_compared(predicate, query), copy=False))
        return []
    return None


def _compared(predicate: _Quantified, query: exp.Query) -> exp.Expr:
    """A predicate over an aggregate of all rows: it is one value, or none where HAVING fails."""
    only = query.copy()
    only.set("having", None)
    value = exp.Subquery(this=only)
    compared: exp.Expr = predicate.comparison(this=predicate.node.this.copy(), expression=value)
    having = query.args.get("having")
    if having is not None:
        there = only.copy()
        there.set("expressions", [having.this.copy()])
        none = exp.true() if predicate.all_ else exp.false()
        compared = exp.case().when(exp.Subquery(this=there), compared).else_(none)
    compared.meta[THREE_VALUED] = True
    return compared


def _is_one_row(query: exp.Query) -> bool:
    """Whether a query is an aggregate of all rows, which HAVING alone may leave without a row."""
    if not isinstance(query, exp.Select) or any(
        query.args.get(clause) for clause in ("group", "limit", "offset", "with_", "qualify")
    ):
        return False
    parts = [*query.selects, *([query.args["order"]] if query.args.get("order") else [])]
    return is_aggregated(query) and not any(p.is_star or p.find(exp.Window) for p in parts)


def _is_plain(query: exp.Query) -> bool:
    """Whether a condition can be added to a query."""
    if not isinstance(query, exp.Select) or limits_rows(query):
        return False
    return not any(column.is_star or column.find(exp.AggFunc) for column in query.selects)


def _three_valued(true: exp.Expr, unknown: exp.Expr) -> exp.Case:
    null = exp.cast(exp.null(), exp.DataType.Type.BOOLEAN)
    found = exp.case().when(true, exp.true()).when(unknown, null).else_(exp.false())
    found.meta[THREE_VALUED] = True
    return found


def _place(node: exp.Expr) -> tuple[bool | None, bool]:
    """Whether a predicate's truth (True) or its falsehood (False) keeps rows; none: neither alone.

    And whether it is, perhaps under one NOT, a condition of its own.
    """
    polarity, conjunct, parent, connected = True, True, node.parent, False
    while isinstance(parent, exp.And | exp.Or | exp.Paren | exp.Not):
        if isinstance(parent, exp.Not):
            polarity = not polarity
            conjunct = conjunct and not connected
        connected = connected or isinstance(parent, exp.And | exp.Or)
        conjunct = conjunct and not isinstance(parent, exp.Or)
        parent = parent.parent
    return (polarity, conjunct) if _is_condition(parent) else (None, False)


def _is_condition(node: exp.Expr | None) -> bool:
    """Whether a node is the WHERE or HAVING of a SELECT; aggregates have a WHERE as well."""
    return isinstance(node, exp.Where | exp.Having) and isinstance(node.parent, exp.Select)


def _in_condition(node: exp.Expr) -> bool:
    clause = node.find_ancestor(exp.Where, exp.Having, exp.Select)
    while clause is not None and not isinstance(clause, exp.Select):
        if _is_condition(clause):
            return True
        clause = clause.find_ancestor(exp.Where, exp.Having, exp.Select)
    return False


@dataclass(frozen=True)
class _Rows:
    """The rows that a predicate quantifies over."""

    predicate: _Quantified
    operands: tuple[exp.Expr, ...]
    alias: str

    def matches(self) -> exp.Expr:
        """That the comparison holds for a row; for ALL, that it does not."""
        pairs = zip(self.operands, self._columns(), strict=True)
        compared = exp.and_(
            *(self.predicate.comparison(this=x.copy(), expression=c) for x, c in pairs)
        )
        return exp.not_(exp.paren(compared)) if self.predicate.all_ else compared

    def extreme(self) -> exp.Expr | None:
        """The same for `<` and its like: the least or greatest row decides, and no join is needed.

        None where each row counts.
        """
        comparison = self.predicate.comparison
        if self.predicate.correlated or comparison not in _LEAST_DECIDES or len(self.operands) > 1:
            return None
        least = _LEAST_DECIDES[comparison] != self.predicate.all_
        (column,) = self._columns()
        value = exp.Min(this=column) if least else exp.Max(this=column)
        decisive = exp.Subquery(this=exp.select(value).from_(self._rows()))
        compared: exp.Expr = comparison(this=self.operands[0].copy(), expression=decisive)
        if self.predicate.all_:
            compared = exp.not_(exp.paren(compared))
        return exp.Coalesce(this=compared, expressions=[exp.false()])

    def unknown(self) -> exp.Expr:
        """That it is unknown for some row: one side is null, looked for on each side alone."""
        if len(self.operands) > 1:
            return self.some(exp.Is(this=exp.paren(self.matches()), expression=exp.null()))
        (operand,), (column,) = self.operands, self._columns()
        null_row = self.some(exp.Is(this=column, expression=exp.null()))
        if isinstance(operand, exp.Literal):
            return null_row
        null_operand = exp.Is(this=exp.paren(operand.copy()), expression=exp.null())
        return exp.or_(null_row, exp.and_(null_operand, self.some(None)))

    def some(self, condition: exp.Expr | None) -> exp.Expr:
        """That there is a row for which a condition holds."""
        query = self.predicate.query
        if self.predicate.correlated:
            assert isinstance(query, exp.Select)
            select = query.copy()
            select.set("expressions", [exp.Literal.number(1)])
            for clause in ("distinct", "order"):
                select.set(clause, None)
            return exp.Exists(this=select if condition is None else select.where(condition))
        rows = exp.select("1").from_(self._rows())
        if condition is None:
            return _any_row(rows)
        rows = rows.where(condition)
        outer = any(column.table != self.alias for column in find_all(condition, exp.Column))
        return exp.Exists(this=rows) if outer else _any_row(rows)

    def _rows(self) -> exp.Subquery:
        columns = [f"{self.alias}.{position}" for position in range(len(self.operands))]
        return derived_table(self.predicate.query.copy(), self.alias, columns)

    def _columns(self) -> list[exp.Expr]:
        if self.predicate.correlated:
            return [exp.paren(column.unalias().copy()) for column in self.predicate.query.selects]
        positions = range(len(self.operands))
        return [column_of(self.alias, f"{self.alias}.{position}") for position in positions]


def _any_row(query: exp.Select) -> exp.Expr:
    """That an uncorrelated query gives any row: evaluated once, not for each row."""
    counted = exp.select("count(*)").from_(query.limit(1).subquery(quoted("rows")))
    return exp.GT(this=exp.Subquery(this=counted), expression=exp.Literal.number(0))


# --------------------------------------------------------------------------- places


def _move_join_conditions(select: exp.Select, context: RewriteContext) -> None:
    """Predicates of ON move into WHERE, or of a LEFT JOIN to the source they are about."""
    joins = select.args.get("joins") or []
    for position, join in enumerate(joins):
        if join.side in ("RIGHT", "FULL"):
            continue
        parts = conjuncts(join.args.get("on"))
        predicates = [p for p in parts if p.find(exp.In, exp.Exists, exp.Any, exp.All)]
        predicates = [p for p in predicates if p.find(exp.Query)]
        if join.side == "LEFT":
            predicates = [p for p in predicates if _is_about(p, join.this, select, context)]
        elif any(later.side in ("RIGHT", "FULL") for later in joins[position + 1 :]):
            continue
        if not predicates:
            continue
        rest = [part.copy() for part in parts if not any(part is p for p in predicates)]
        join.set("on", exp.and_(*rest) if rest else exp.true())
        if join.side != "LEFT":
            select.where(*(part.copy() for part in predicates), copy=False)
            continue
        source = join.this
        filtered = exp.select("*").from_(source.copy()).where(*(p.copy() for p in predicates))
        join.set("this", derived_table(filtered, source.alias_or_name))
        _expand_in(filtered, context, count(1000))


def _is_about(
    part: exp.Expr, source: exp.Expr, select: exp.Select, context: RewriteContext
) -> bool:
    """Whether a condition is about the columns of one source only."""
    return all(
        owner_of(column.name, column.table, select, context) is source
        for column in find_all(part, exp.Column)
        if belongs_to(column, select, context)
    )


def _evaluate_once(node: exp.Exists, select: exp.Select, context: RewriteContext) -> None:
    """An uncorrelated EXISTS is evaluated once, not for each row."""
    if not is_correlated(node.this, context):
        rows = node.this.copy().subquery(quoted("rows"))
        counted = _any_row(exp.select("1").from_(rows))
        # DataFusion does not sort by a subquery.
        inside = node.find_ancestor(exp.Order, exp.Select, exp.Window)
        counted.meta[THREE_VALUED] = inside is not select
        node.replace(exp.paren(counted, copy=False))


def _join_truth_values(select: exp.Select, numbers: Iterator[int]) -> None:
    """Predicates outside of conditions become columns that hold the truth value."""
    columns: dict[str, str] = {}
    for node in _outside_of_conditions(select):
        text = node.sql()
        if text not in columns:
            columns[text] = f"truth {next(numbers)}"
            _join_truth_value(select, node, columns[text])
        node.replace(column_of(columns[text], columns[text]))
    hide_from_stars(select, columns.values())


def _outside_of_conditions(select: exp.Select) -> list[exp.Expr]:
    """The predicates of a SELECT's own expressions: EXISTS, or what a quantified one became."""
    return [
        node
        for node in find_all(select, exp.Exists, exp.Case, *COMPARISONS)
        if (node.meta.get(THREE_VALUED) or (isinstance(node, exp.Exists) and not _is_part(node)))
        and node.find_ancestor(exp.Select) is select
        and not _in_condition(node)
        and node.find(exp.Query)
    ]


def _is_part(node: exp.Expr) -> bool:
    """Whether an EXISTS is part of what a quantified predicate became."""
    case = node.find_ancestor(exp.Case, exp.Select)
    while isinstance(case, exp.Case) and not case.meta.get(THREE_VALUED):
        case = case.find_ancestor(exp.Case, exp.Select)
    return isinstance(case, exp.Case)


def _join_truth_value(select: exp.Select, node: exp.Expr, name: str) -> None:
    """Join each row with the possible truth values, and keep the right one.

    One that a join's condition needs is there before the join.
    """
    possible: list[exp.Expr] = [exp.true(), exp.false()]
    if not isinstance(node, exp.Exists):
        possible.append(exp.null())
    values = exp.Values(
        expressions=[exp.Tuple(expressions=[truth]) for truth in possible],
        alias=exp.TableAlias(this=quoted(name), columns=[quoted(name)]),
    )
    joins = list(select.args.get("joins") or [])
    join = node.find_ancestor(exp.Join, exp.Select)
    position = next((i for i, other in enumerate(joins) if other is join), len(joins))
    if isinstance(join, exp.Join):
        _require_left(join, joins[position:], node)
    joins.insert(position, exp.Join(this=values, kind="CROSS"))
    select.set("joins", joins)
    right = exp.NullSafeEQ(this=column_of(name, name), expression=exp.paren(node.copy()))
    select.where(right, copy=False)


def _require_left(join: exp.Join, later: list[exp.Join], node: exp.Expr) -> None:
    """Refuse what cannot be evaluated before an outer join: a predicate on its other side."""
    mine = join.this.alias_or_name.casefold()
    tables = {column.table.casefold() for column in find_all(node, exp.Column)}
    if mine in tables or any(other.side in ("RIGHT", "FULL") for other in later):
        raise InvalidInput(
            "the condition of an outer join has a subquery correlated with the joined table",
            hint="Join a subquery instead, and put the condition into its WHERE.",
        )
