"""IN, ANY, ALL and EXISTS in any place, with SQL's three answers: true, false and unknown.

The engine decides such a predicate only where a row is kept or dropped for it, and takes unknown
for false wherever the predicate is not a condition of its own. So a membership becomes EXISTS,
whose two answers the engine gets right, and what it asks is chosen by place:

- where only truth matters (WHERE, HAVING and ON, through AND, OR and NOT) unknown counts as what
  makes the condition fail;
- everywhere else all three answers are told apart by CASE;
- outside of conditions the answer is a column of its own: every row is joined with the possible
  answers, and the one that is right is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.resolve.column_sources import (
    belongs_to,
    columns_of,
    is_correlated,
    owner_of,
    qualified,
    rename_sources,
    sources_of,
)
from omnigraph_sql.resolve.projection_names import result_name
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.subqueries.lift_above_aggregation import (
    is_aggregated,
    is_below,
    lift_above_aggregation,
    name_groups,
)

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_LEAST_DECIDES = {exp.GT: True, exp.GTE: True, exp.LT: False, exp.LTE: False}
"""Whether ANY of these holds if it holds for the least value; else for the greatest."""

_ASKS = "asks"
"""Marks what a membership became where all three answers count."""


@dataclass(frozen=True)
class _Membership:
    """Whether a comparison holds for any row of a query; `all_` asks for every row."""

    node: exp.Expr
    query: exp.Query
    operands: tuple[exp.Expr, ...]
    comparison: type[exp.Binary]
    all_: bool
    correlated: bool

    @property
    def plain(self) -> bool:
        """Whether it is `x IN (…)`, which the engine itself has."""
        return isinstance(self.node, exp.In) and len(self.operands) == 1


def expand_quantified_predicates(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Decide them in every SELECT, the innermost first."""
    numbers = count(1)
    for select in reversed(list(tree.find_all(exp.Select))):
        asking = list(_predicates(select))
        if not asking:
            continue
        _name_asking(select, asking)
        name_groups(select)
        asking = list(_predicates(select))
        if is_aggregated(select) and any(_is_above(node, select) for node in asking):
            _decide_in(lift_above_aggregation(select, context), context, numbers)
        _decide_in(select, context, numbers)
    return tree


def _decide_in(select: exp.Select, context: RewriteContext, numbers: Iterator[int]) -> None:
    _settle_joins(select, context)
    pending = list(_predicates(select))
    aliases: dict[str, str] = {}
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Exists):
            _ask_once(node, select, context)
            continue
        asked = _membership(node, context)
        if asked is not None:
            alias = aliases.setdefault(node.sql(), f"among {len(aliases)} of {next(numbers)}")
            pending.extend(_decide(asked, select, context, alias))
    _answers_as_columns(select, numbers)


def _name_asking(select: exp.Select, asking: list[exp.Expr]) -> None:
    """Columns that ask are called as they would be if nothing were put in their place."""
    for projection in list(select.expressions):
        inside = any(node is found for found in asking for node in projection.walk())
        if inside and not isinstance(projection, exp.Alias):
            name = result_name(projection)
            projection.replace(exp.alias_(projection.copy(), name, quoted=True))


def _is_above(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a predicate is about groups, and no condition."""
    in_join = isinstance(node.find_ancestor(exp.Join, exp.Select), exp.Join)
    return not (is_below(node, select) or _in_condition(node) or in_join)


def _predicates(select: exp.Select) -> Iterator[exp.Expr]:
    for node in select.find_all(exp.In, exp.Exists, *_COMPARISONS):
        if node.find_ancestor(exp.Select) is not select:
            continue
        if isinstance(node, exp.In) and node.args.get("query") is None:
            continue
        if isinstance(node, _COMPARISONS) and not isinstance(node.expression, exp.Any | exp.All):
            continue
        yield node


def _membership(node: exp.Expr, context: RewriteContext) -> _Membership | None:
    """What a node asks of a query; none for EXISTS, and for lists."""
    if isinstance(node, exp.Exists):
        return None
    held = node.args["query"] if isinstance(node, exp.In) else node.expression.this
    while isinstance(held, exp.Subquery | exp.Paren) and not held.alias:
        held = held.this
    if not isinstance(held, exp.Query):
        return None
    left = node.this.unnest()
    operands = tuple(left.expressions) if isinstance(left, exp.Tuple) else (left,)
    _name_the_star(held, context)
    comparison = exp.EQ if isinstance(node, exp.In) else type(node)
    assert issubclass(comparison, exp.Binary)
    all_ = isinstance(node.args.get("expression"), exp.All)
    return _Membership(node, held, operands, comparison, all_, is_correlated(held, context))


def _name_the_star(query: exp.Query, context: RewriteContext) -> None:
    """`SELECT *` from a source of one known column gives that column."""
    sources = sources_of(query) if isinstance(query, exp.Select) else []
    if len(sources) == 1 and [str(column) for column in query.selects] == ["*"]:
        names = columns_of(sources[0], context)
        if names is not None and len(names) == 1:
            query.set("expressions", [exp.column(*names)])


# --------------------------------------------------------------------------- one membership


def _decide(
    asked: _Membership, select: exp.Select, context: RewriteContext, alias: str
) -> list[exp.Expr]:
    """Put what the engine can decide in the place of a membership; gives what is left to decide."""
    polarity, conjunct = _place(asked.node)
    if asked.all_ and polarity is not None:
        polarity = not polarity
    simplified = _simplified(asked) if asked.correlated and not _is_plain(asked.query) else None
    if simplified is not None:
        return simplified
    united = asked.correlated and isinstance(asked.query, exp.Union)
    if asked.plain and polarity is True and not united:
        return []  # the engine's own IN: unknown is as good as false
    if asked.correlated and not _is_plain(asked.query):
        raise InvalidInput(
            "a subquery with a window, a LIMIT, GROUP BY or * cannot be asked about each row",
            hint="Join the subquery instead, or leave out of it what the row decides.",
        )
    about_rows = asked.node.this.find(exp.Column) is not None
    if asked.plain and polarity is False and conjunct and about_rows and not asked.correlated:
        return []  # its own NOT IN as a condition of its own knows about nulls
    operands = tuple(qualified(x, select, context) for x in asked.operands)
    if asked.correlated:
        # What is compared goes into the query, where the same alias would mean another table.
        tables = {column.table for operand in operands for column in operand.find_all(exp.Column)}
        rename_sources(asked.query, tables, alias, context)
    rows = _Rows(asked, operands, alias)
    answer = true = rows.extreme() or rows.some(rows.matches())
    if polarity is False:
        answer = exp.or_(true, rows.unknown())
    elif polarity is None:
        answer = _told_apart(true, rows.unknown())
    answer = exp.paren(answer)
    asked.node.replace(exp.paren(exp.not_(answer)) if asked.all_ else answer)
    return []


def _simplified(asked: _Membership) -> list[exp.Expr] | None:
    """A membership in simpler queries, where the query is about the row and has several parts.

    Gives what is left to decide; none where it is not made of simpler ones.
    """
    query, node = asked.query, asked.node
    whole = any(query.args.get(clause) for clause in ("limit", "offset", "with_"))
    if isinstance(query, exp.Union) and not whole:
        parts = []
        for side in (query.this, query.expression):
            part = node.copy()
            place = part.args["query"] if isinstance(part, exp.In) else part.expression
            place.set("this", side.copy())
            parts.append(part)
        connected = exp.and_(*parts, copy=False) if asked.all_ else exp.or_(*parts, copy=False)
        node.replace(exp.paren(connected, copy=False))
        return parts
    if _is_one_row(query) and len(asked.operands) == 1:
        node.replace(exp.paren(_compared(asked, query), copy=False))
        return []
    return None


def _compared(asked: _Membership, query: exp.Query) -> exp.Expr:
    """A membership in an aggregate of all rows: it is one value, or none where HAVING fails."""
    only = query.copy()
    only.set("having", None)
    value = exp.Subquery(this=only)
    compared: exp.Expr = asked.comparison(this=asked.node.this.copy(), expression=value)
    having = query.args.get("having")
    if having is not None:
        there = only.copy()
        there.set("expressions", [having.this.copy()])
        none = exp.true() if asked.all_ else exp.false()
        compared = exp.case().when(exp.Subquery(this=there), compared).else_(none)
    compared.meta[_ASKS] = True
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
    if not isinstance(query, exp.Select) or any(
        query.args.get(clause) for clause in ("group", "having", "limit", "offset", "qualify")
    ):
        return False
    return not any(column.is_star or column.find(exp.AggFunc) for column in query.selects)


def _told_apart(true: exp.Expr, unknown: exp.Expr) -> exp.Case:
    null = exp.cast(exp.null(), exp.DataType.Type.BOOLEAN)
    found = exp.case().when(true, exp.true()).when(unknown, null).else_(exp.false())
    found.meta[_ASKS] = True
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
    found = node.find_ancestor(exp.Where, exp.Having, exp.Select)
    while found is not None and not isinstance(found, exp.Select):
        if _is_condition(found):
            return True
        found = found.find_ancestor(exp.Where, exp.Having, exp.Select)
    return False


@dataclass(frozen=True)
class _Rows:
    """The rows among which something is looked for."""

    asked: _Membership
    operands: tuple[exp.Expr, ...]
    alias: str

    def matches(self) -> exp.Expr:
        """That the comparison holds for a row; for ALL, that it does not."""
        pairs = zip(self.operands, self._columns(), strict=True)
        found = exp.and_(*(self.asked.comparison(this=x.copy(), expression=c) for x, c in pairs))
        return exp.not_(exp.paren(found)) if self.asked.all_ else found

    def extreme(self) -> exp.Expr | None:
        """The same for `<` and its like: the least or greatest row decides, and no join is needed.

        None where each row counts.
        """
        comparison = self.asked.comparison
        if self.asked.correlated or comparison not in _LEAST_DECIDES or len(self.operands) > 1:
            return None
        least = _LEAST_DECIDES[comparison] != self.asked.all_
        (column,) = self._columns()
        value = exp.Min(this=column) if least else exp.Max(this=column)
        decisive = exp.Subquery(this=exp.select(value).from_(self._rows()))
        found: exp.Expr = comparison(this=self.operands[0].copy(), expression=decisive)
        if self.asked.all_:
            found = exp.not_(exp.paren(found))
        return exp.Coalesce(this=found, expressions=[exp.false()])

    def unknown(self) -> exp.Expr:
        """That it is unknown for some row: one side is null, which is asked of each side alone."""
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
        query = self.asked.query
        if self.asked.correlated:
            assert isinstance(query, exp.Select)
            found = query.copy()
            found.set("expressions", [exp.Literal.number(1)])
            for clause in ("distinct", "order"):
                found.set(clause, None)
            return exp.Exists(this=found if condition is None else found.where(condition))
        kept = exp.select("1").from_(self._rows())
        if condition is None:
            return _any_row(kept)
        kept = kept.where(condition)
        outer = any(column.table != self.alias for column in condition.find_all(exp.Column))
        return exp.Exists(this=kept) if outer else _any_row(kept)

    def _rows(self) -> exp.Subquery:
        columns = [quoted(f"{self.alias}.{place}") for place in range(len(self.operands))]
        alias = exp.TableAlias(this=quoted(self.alias), columns=columns)
        return exp.Subquery(this=self.asked.query.copy(), alias=alias)

    def _columns(self) -> list[exp.Expr]:
        if self.asked.correlated:
            return [exp.paren(column.unalias().copy()) for column in self.asked.query.selects]
        places = range(len(self.operands))
        return [
            exp.Column(this=quoted(f"{self.alias}.{p}"), table=quoted(self.alias)) for p in places
        ]


def _any_row(query: exp.Select) -> exp.Expr:
    """That a query which needs no other row gives any: asked once, not for each row."""
    counted = exp.select("count(*)").from_(query.limit(1).subquery(quoted("rows")))
    return exp.GT(this=exp.Subquery(this=counted), expression=exp.Literal.number(0))


# --------------------------------------------------------------------------- places


def _settle_joins(select: exp.Select, context: RewriteContext) -> None:
    """Conditions of joins that ask a query: into WHERE, or to the table they are about."""
    joins = select.args.get("joins") or []
    for place, join in enumerate(joins):
        on = join.args.get("on")
        if on is None or join.side in ("RIGHT", "FULL"):
            continue
        parts = list(on.flatten()) if isinstance(on, exp.And) else [on]
        asking = [p for p in parts if p.find(exp.In, exp.Exists, exp.Any, exp.All)]
        asking = [p for p in asking if p.find(exp.Query)]
        if join.side == "LEFT":
            asking = [p for p in asking if _is_about(p, join.this, select, context)]
        elif any(later.side in ("RIGHT", "FULL") for later in joins[place + 1 :]):
            continue
        if not asking:
            continue
        kept = [part.copy() for part in parts if not any(part is p for p in asking)]
        join.set("on", exp.and_(*kept) if kept else exp.true())
        if join.side != "LEFT":
            select.where(*(part.copy() for part in asking), copy=False)
            continue
        source = join.this
        alias = exp.TableAlias(this=quoted(source.alias_or_name))
        kept_rows = exp.select("*").from_(source.copy()).where(*(p.copy() for p in asking))
        join.set("this", exp.Subquery(this=kept_rows, alias=alias))
        _decide_in(kept_rows, context, count(1000))


def _is_about(
    part: exp.Expr, source: exp.Expr, select: exp.Select, context: RewriteContext
) -> bool:
    """Whether a condition is about the columns of one source only."""
    return all(
        owner_of(column.name, column.table, select, context) is source
        for column in part.find_all(exp.Column)
        if belongs_to(column, select, context)
    )


def _ask_once(node: exp.Exists, select: exp.Select, context: RewriteContext) -> None:
    """EXISTS about no row in particular is asked once, not for each row."""
    if not is_correlated(node.this, context):
        rows = node.this.copy().subquery(quoted("rows"))
        asked = _any_row(exp.select("1").from_(rows))
        # The engine does not sort by a query's answer.
        asked.meta[_ASKS] = node.find_ancestor(exp.Order, exp.Select, exp.Window) is not select
        node.replace(exp.paren(asked, copy=False))


def _answers_as_columns(select: exp.Select, numbers: Iterator[int]) -> None:
    """Predicates outside of conditions become columns that hold the answer."""
    answers: dict[str, str] = {}
    for node in _outside_of_conditions(select):
        text = node.sql()
        if text not in answers:
            answers[text] = f"answer {next(numbers)}"
            _join_answers(select, node, answers[text])
        name = answers[text]
        node.replace(exp.Column(this=quoted(name), table=quoted(name)))
    for star in [s for s in select.expressions if isinstance(s, exp.Star)] if answers else []:
        star.set("except_", [*(star.args.get("except_") or []), *map(quoted, answers.values())])


def _outside_of_conditions(select: exp.Select) -> list[exp.Expr]:
    """What asks queries in a SELECT's own expressions: EXISTS, or what a membership became."""
    found: list[exp.Expr] = []
    for node in select.find_all(exp.Exists, exp.Case, *_COMPARISONS):
        asks = node.meta.get(_ASKS) or (
            isinstance(node, exp.Exists) and not _is_part_of_membership(node)
        )
        if asks and node.find_ancestor(exp.Select) is select and not _in_condition(node):
            found.append(node)
    return [node for node in found if node.find(exp.Query)]


def _is_part_of_membership(node: exp.Expr) -> bool:
    case = node.find_ancestor(exp.Case, exp.Select)
    while isinstance(case, exp.Case):
        if case.meta.get(_ASKS):
            return True
        case = case.find_ancestor(exp.Case, exp.Select)
    return False


def _join_answers(select: exp.Select, node: exp.Expr, name: str) -> None:
    """Join each row with the possible answers, and keep the one that is right.

    An answer that a join's condition needs is there before the join.
    """
    possible: list[exp.Expr] = [exp.true(), exp.false()]
    if not isinstance(node, exp.Exists):
        possible.append(exp.null())
    values = exp.Values(
        expressions=[exp.Tuple(expressions=[answer]) for answer in possible],
        alias=exp.TableAlias(this=quoted(name), columns=[quoted(name)]),
    )
    joins = list(select.args.get("joins") or [])
    join = node.find_ancestor(exp.Join, exp.Select)
    place = next((i for i, other in enumerate(joins) if other is join), len(joins))
    if isinstance(join, exp.Join):
        _require_left(join, joins[place:], node)
    joins.insert(place, exp.Join(this=values, kind="CROSS"))
    select.set("joins", joins)
    answer = exp.Column(this=quoted(name), table=quoted(name))
    right = exp.NullSafeEQ(this=answer, expression=exp.paren(node.copy()))
    select.where(right, copy=False)


def _require_left(join: exp.Join, later: list[exp.Join], node: exp.Expr) -> None:
    """Refuse what cannot be answered before an outer join: a question about its other side."""
    mine = join.this.alias_or_name.casefold()
    tables = {column.table.casefold() for column in node.find_all(exp.Column)}
    if mine in tables or any(other.side in ("RIGHT", "FULL") for other in later):
        raise InvalidInput(
            "the condition of an outer join asks a query about the joined table",
            hint="Join a subquery instead, whose WHERE asks it.",
        )
