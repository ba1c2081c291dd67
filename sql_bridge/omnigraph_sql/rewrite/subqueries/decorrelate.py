"""Correlated subqueries in every shape that DataFusion does not decorrelate itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.conjuncts import conjuncts
from omnigraph_sql.frontend.identifiers import called, column_of, derived_table, quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import alias_columns, first_select, qualified
from omnigraph_sql.resolve.projection_names import hide_from_stars, keep_name, named
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.subqueries.correlated_subqueries import (
    CorrelatedSubquery,
    correlated_sources,
    correlated_subqueries,
    has_always_a_row,
    runs_natively,
)
from omnigraph_sql.rewrite.subqueries.dependent_join import (
    CannotDecorrelate,
    Domain,
    dependent_join,
    is_one_row,
    lift_having,
)
from omnigraph_sql.rewrite.subqueries.is_volatile import is_volatile
from omnigraph_sql.rewrite.subqueries.lift_above_aggregation import (
    is_aggregated,
    is_below,
    name_groups,
)

_MAX_SELECTS = 2_000
"""How many SELECTs are decorrelated for one statement: what replaces a subquery has some, too."""


def decorrelate(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Join what correlated subqueries give for all rows at once (`dependent_join`).

    SELECT p.name, (SELECT i.sku FROM item AS i WHERE i.price < p.age ORDER BY i.sku LIMIT 1) AS s
    FROM person AS p
    -> SELECT p.name, "subquery 1"."value 1.0" AS s FROM person AS p LEFT JOIN (SELECT * EXCEPT
    ("sort 0 of domain 1", "position of domain 1") FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY
    "domain 1.0" ORDER BY "sort 0 of domain 1") AS "position of domain 1" FROM (SELECT i.sku AS
    "sku", i.sku AS "sort 0 of domain 1", "domain 1"."domain 1.0" AS "domain 1.0" FROM (SELECT
    DISTINCT p.age AS "domain 1.0" FROM person AS p) AS "domain 1" CROSS JOIN item AS i WHERE
    i.price < "domain 1"."domain 1.0") AS "rows of domain 1") AS "numbered of domain 1" WHERE
    "position of domain 1" <= CAST((1) AS BIGINT)) AS "subquery 1"("value 1.0", "domain 1.0") ON
    "subquery 1"."domain 1.0" IS NOT DISTINCT FROM p.age

    DataFusion itself runs a correlated subquery that compares rows in its WHERE, and a scalar one
    that aggregates rows which are `=` to something. The outermost SELECT comes first: the
    subqueries inside then need one level.
    """
    selects = list(find_all(tree, exp.Select))
    pending = deque(selects if len(selects) > 1 else [])
    numbers = count(1)
    for _ in range(_MAX_SELECTS + len(selects)):
        if not pending:
            return tree
        select = pending.popleft()
        for made in _decorrelate_select(select, context, numbers):
            pending.extend(find_all(made, exp.Select))
    raise InvalidInput(
        "the statement has too many correlated subqueries inside one another",
        hint="Join some of them instead, or split the statement.",
    )


def _decorrelate_select(
    select: exp.Select, context: RewriteContext, numbers: Iterator[int]
) -> list[exp.Expr]:
    """Decorrelate the subqueries of one SELECT; gives what was put in their place."""
    made = [
        source
        for subquery in correlated_sources(select, context)
        for source in _join_source(subquery, select, context, numbers)
    ]
    subqueries = _not_native(select, context)
    if not subqueries:
        return made
    name_groups(select)
    if is_aggregated(select) and any(_is_above(subquery, select) for subquery in subqueries):
        groups = lift_having(select, context)
        made += [groups, *_decorrelate_select(groups, context, numbers)]
        subqueries = _not_native(select, context)
    outer = _OuterRows.of(select, context)
    for subquery in subqueries:
        made += _replace(subquery, select, outer, context, next(numbers))
    return made


def _not_native(select: exp.Select, context: RewriteContext) -> list[CorrelatedSubquery]:
    """The subqueries that DataFusion does not run; an EXISTS that is always true becomes so."""
    subqueries: list[CorrelatedSubquery] = []
    for subquery in correlated_subqueries(select, context):
        if subquery.kind == "exists" and has_always_a_row(subquery.query):
            keep_name(subquery.holder, select)
            subquery.holder.replace(exp.true())
        elif not runs_natively(subquery, select):
            subqueries.append(subquery)
    return subqueries


def _is_above(subquery: CorrelatedSubquery, select: exp.Select) -> bool:
    """Whether a subquery is evaluated after grouping: not in WHERE, joins, keys or aggregates."""
    if subquery.holder.find_ancestor(exp.Where, exp.Join, exp.Select) is not select:
        return False
    return not is_below(subquery.holder, select) and not _is_key(subquery.holder, select)


def _is_key(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a node is in a result by which rows are grouped."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    for position, projection in enumerate(select.expressions, 1):
        if any(node is part for part in projection.walk()):
            return exp.Literal.number(position) in keys or any(
                isinstance(key, exp.Column)
                and not key.table
                and key.name.casefold() == projection.alias.casefold()
                for key in keys
            )
    return False


# --------------------------------------------------------------------------- the domain


class _VolatileSource(CannotDecorrelate):
    """The rows around a subquery would be others when they are read again for the domain."""

    def refused(self) -> InvalidInput:
        return InvalidInput(
            "correlated subquery over a non-deterministic source",
            hint="Give its LIMIT an ORDER BY, or store its rows first: CREATE TABLE … AS SELECT ….",
        )


@dataclass(frozen=True)
class _OuterRows:
    """What a SELECT reads, before anything is joined to it."""

    from_: exp.Expr | None
    joins: tuple[exp.Join, ...]
    where: exp.Expr | None
    volatile: frozenset[str]
    """The sources that may have other rows when they are read again."""

    @classmethod
    def of(
        cls, select: exp.Select, context: RewriteContext, before: exp.Join | None = None
    ) -> _OuterRows:
        """The sources of a SELECT; only those before a join, if one is given."""
        joins = list(select.args.get("joins") or [])
        if before is not None:
            joins = joins[: next(i for i, join in enumerate(joins) if join is before)]
        where = select.args.get("where") if before is None else None
        from_ = select.args.get("from_")
        sources = [*([from_.this] if from_ else []), *(join.this for join in joins)]
        return cls(
            from_.copy() if from_ else None,
            tuple(join.copy() for join in joins),
            qualified(where.this, select, context) if where else None,
            frozenset(s.alias_or_name.casefold() for s in sources if is_volatile(s)),
        )

    def distinct(self, columns: Sequence[exp.Expr]) -> exp.Select:
        """The distinct values of some columns in its rows, or in more rows than it has.

        Where one source has them all, and no outer join adds nulls, that source is read alone.
        They are read once more, so a volatile source has no such values.
        """
        if self.from_ is None:
            raise CannotDecorrelate
        values = exp.Select(expressions=list(columns), distinct=exp.Distinct())
        sources = [self.from_.this, *(join.this for join in self.joins)]
        tables = {c.table.casefold() for one in columns for c in find_all(one, exp.Column)}
        owners = [s for s in sources if s.alias_or_name.casefold() in tables]
        alone = len(tables) == len(owners) == 1 and isinstance(owners[0], exp.Table | exp.Subquery)
        conditions = [part for part in conjuncts(self.where) if _is_deterministic(part)]
        if alone and not any(join.side or join.args.get("using") for join in self.joins):
            sources = owners
            values.set("from_", exp.From(this=owners[0].copy()))
            conditions = [part for part in conditions if _is_about(part, tables)]
        else:
            values.set("from_", self.from_.copy())
            values.set("joins", self._deterministic_joins())
        if not self.volatile.isdisjoint(source.alias_or_name.casefold() for source in sources):
            raise _VolatileSource
        if conditions:
            values.where(*(part.copy() for part in conditions), copy=False)
        return values

    def _deterministic_joins(self) -> list[exp.Join]:
        """The joins, inner ones without conditions that are volatile or hold a subquery."""
        joins = [join.copy() for join in self.joins]
        inner = all(map(_is_inner, joins))
        for join in joins:
            on = join.args.get("on")
            deterministic = [part for part in conjuncts(on) if _is_deterministic(part)]
            if on is None or len(deterministic) == len(conjuncts(on)):
                continue
            if inner:
                join.set("on", exp.and_(*deterministic) if deterministic else exp.true())
            elif is_volatile(on):
                raise _VolatileSource
        return joins


def _is_deterministic(part: exp.Expr) -> bool:
    """Whether a condition holds for a row again, without a query."""
    return part.find(exp.Query) is None and not is_volatile(part)


def _is_inner(join: exp.Join) -> bool:
    """Whether a join only leaves rows out, so that without its condition it has more."""
    return not join.side and join.kind not in ("SEMI", "ANTI")


def _is_about(part: exp.Expr, tables: set[str]) -> bool:
    return all(column.table.casefold() in tables for column in find_all(part, exp.Column))


def _domain(
    subquery: CorrelatedSubquery,
    select: exp.Select,
    outer: _OuterRows,
    context: RewriteContext,
    number: int,
) -> tuple[Domain, list[exp.Expr]]:
    """The domain of a subquery, and the columns of the SELECT that its keys stand for.

    In the subquery, the columns of the domain are put in the place of the SELECT's.
    """
    meant = [qualified(column, select, context) for column in subquery.outer]
    columns: list[exp.Expr] = []
    for one in meant:
        if one not in columns:
            columns.append(one)
    alias = f"domain {number}"
    keys = tuple(f"{alias}.{index}" for index in range(len(columns)))
    values = [exp.alias_(c.copy(), key, quoted=True) for c, key in zip(columns, keys, strict=True)]
    domain = Domain(outer.distinct(values), alias, keys)
    context.domains.add(alias)
    for column, one in zip(subquery.outer, meant, strict=True):
        column.replace(domain.column(keys[columns.index(one)]))
    return domain, columns


# --------------------------------------------------------------------------- joining


def _join_source(
    subquery: CorrelatedSubquery,
    select: exp.Select,
    context: RewriteContext,
    numbers: Iterator[int],
) -> list[exp.Expr]:
    """A lateral source: its rows for all rows before it, joined by the domain."""
    join = subquery.holder
    assert isinstance(join, exp.Join)
    source = join.this
    alias = source.args.get("alias")
    if join.side in ("RIGHT", "FULL"):
        return []
    if not isinstance(alias, exp.TableAlias) or not alias.this:
        alias = exp.TableAlias(this=quoted(f"lateral {next(numbers)}"))
    before = subquery.query.copy()
    try:
        outer, names = _OuterRows.of(select, context, join), alias_columns(source)
        if names and len(names) != _width(subquery.query):
            raise CannotDecorrelate
        _name_results(subquery.query)
        domain, columns = _domain(subquery, select, outer, context, next(numbers))
        _inline_withs(subquery.query)
        rows = dependent_join(subquery.query, domain, context)
    except _VolatileSource as volatile:
        raise volatile.refused() from None
    except CannotDecorrelate:
        container = source.this if isinstance(source, exp.Lateral) else source
        container.set("this", before)
        return []
    derived = _derived(rows, alias.name, names or None, domain)
    side = "LEFT" if join.side == "LEFT" or source.args.get("cross_apply") is False else None
    on = domain.matches(alias.name, columns)
    given = join.args.get("on")
    if given is not None and given != exp.true():
        on = exp.and_(on, given.copy())
    join.replace(exp.Join(this=derived, side=side, on=on))
    hide_from_stars(select, domain.keys, alias.name)
    return [derived]


def _name_results(query: exp.Query) -> None:
    """Keep the names of a query's results, whatever is put in the place of outer columns."""
    first = first_select(query)
    if first is None:
        raise CannotDecorrelate
    first.set("expressions", [named(projection) for projection in first.expressions])


def _inline_withs(query: exp.Query) -> None:
    """Put the queries of a WITH where they are read: there they may be correlated, too."""
    with_ = query.args.get("with_")
    if not isinstance(with_, exp.With):
        return
    if with_.args.get("recursive"):
        raise CannotDecorrelate
    query.set("with_", None)
    ctes = list(with_.expressions)
    for index, cte in reversed(list(enumerate(ctes))):
        columns = cte.args["alias"].args.get("columns")
        for reader in [query, *(later.this for later in ctes[index + 1 :])]:
            for table in list(find_all(reader, exp.Table)):
                if table.args.get("db") or table.name.casefold() != cte.alias.casefold():
                    continue
                alias = exp.TableAlias(this=quoted(table.alias_or_name), columns=columns)
                table.replace(exp.Subquery(this=cte.this.copy(), alias=alias))


def _width(query: exp.Query) -> int | None:
    """How many results a query gives; none where a star hides it."""
    return None if any(one.is_star for one in query.selects) else len(query.selects)


def _replace(
    subquery: CorrelatedSubquery,
    select: exp.Select,
    outer: _OuterRows,
    context: RewriteContext,
    number: int,
) -> list[exp.Expr]:
    """Put what a subquery gives in its place; gives what was made for it."""
    query, scalar = subquery.query, subquery.kind == "scalar"
    in_join = isinstance(subquery.holder.find_ancestor(exp.Join, exp.Select), exp.Join)
    if in_join and (scalar or not all(map(_is_inner, outer.joins))):
        return []
    if scalar and _width(query) != 1:
        raise InvalidInput("a scalar subquery gives several columns", hint="Select one of them.")
    before, one_row = query.copy(), is_one_row(query)
    names = [f"value {number}.{index}" for index in range(len(query.selects))]
    try:
        if subquery.kind != "exists" and _width(query) is None:
            raise CannotDecorrelate
        _name_results(query)
        domain, columns = _domain(subquery, select, outer, context, number)
        _inline_withs(query)
        parent, key = query.parent, query.arg_key or "this"
        assert parent is not None
        rows = dependent_join(query, domain, context)
    except CannotDecorrelate as failure:
        if isinstance(failure, _VolatileSource) and scalar:
            raise failure.refused() from None
        query.replace(before)
        return []
    alias = f"subquery {number}"
    if scalar:
        derived = _derived(rows, alias, names, domain)
        value: exp.Expr = column_of(alias, names[0])
        hidden = [*domain.keys, names[0]]
        if not one_row:
            counted = domain.named("count")
            derived = _derived(_first(derived, names[0], counted, domain), alias, None, domain)
            # Checked where the value is used: rows that are not there may have several.
            value = exp.case().when(exp.func("single_row", column_of(alias, counted)), value)
            hidden.append(counted)
        joins = list(select.args.get("joins") or [])
        joins.append(exp.Join(this=derived, side="LEFT", on=domain.matches(alias, columns)))
        keep_name(subquery.holder, select)
        subquery.holder.replace(value)
        select.set("joins", joins)
        hide_from_stars(select, hidden)
        return [derived]
    quantified = subquery.kind == "quantified"
    derived = _derived(rows, alias, names if quantified else None, domain)
    results: list[exp.Expr] = [column_of(alias, name) for name in names if quantified]
    native = exp.Select(expressions=results or [exp.Literal.number(1)]).from_(derived)
    parent.set(key, native.where(domain.matches(alias, columns), copy=False))
    return [native]


def _first(rows: exp.Subquery, name: str, counted: str, domain: Domain) -> exp.Select:
    """One row for each row of the domain, and how many there are."""
    keys = [column_of(None, key) for key in domain.keys]
    first = exp.func("first_value", column_of(None, name))
    projections = [called(first, name), called(exp.Count(this=exp.Star()), counted), *keys]
    select = exp.Select(expressions=projections).from_(rows)
    return select.group_by(*(key.copy() for key in keys), copy=False)


def _derived(
    rows: exp.Query, alias: str, names: Sequence[str] | None, domain: Domain
) -> exp.Subquery:
    """The rows as a source; with names, its columns are called so, and by the domain's keys."""
    return derived_table(rows, alias, (*names, *domain.keys) if names is not None else ())
