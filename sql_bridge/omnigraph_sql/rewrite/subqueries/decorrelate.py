"""Subqueries about the row around them, in every shape that the engine does not take apart.

The engine itself runs such a subquery where it compares rows in its WHERE, and where a scalar one
is an aggregate of rows that are `=` to something. Any other one is asked about all rows at once
(`spread`), and its answers are joined by the columns it was asked about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.resolve.column_sources import qualified
from omnigraph_sql.resolve.projection_names import result_name
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.subqueries.correlated_subqueries import (
    DOMAIN,
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

_VALUE = "value"
_MOST = 2_000
"""How many SELECTs are freed for one statement: what is put in a query's place has some, too."""


def decorrelate(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Free the queries of every SELECT, the outermost first: those inside then need one level."""
    selects = list(tree.find_all(exp.Select))
    pending = deque(selects if len(selects) > 1 else [])
    numbers = count(1)
    for _ in range(_MOST + len(selects)):
        if not pending:
            return tree
        select = pending.popleft()
        for made in _free(select, context, numbers):
            pending.extend(made.find_all(exp.Select))
    raise InvalidInput(
        "the subqueries of this statement are about one another too often",
        hint="Join some of them instead, or split the statement.",
    )


def _free(select: exp.Select, context: RewriteContext, numbers: Iterator[int]) -> list[exp.Expr]:
    """Free the queries of one SELECT; gives what was put in their place."""
    made = [
        found
        for asked in correlated_sources(select, context)
        for found in _join(asked, select, context, numbers)
    ]
    hard = _hard(select, context)
    if not hard:
        return made
    name_groups(select)
    if is_aggregated(select) and any(_is_above(asked, select) for asked in hard):
        groups = lift_having(select, context)
        made += [groups, *_free(groups, context, numbers)]
        hard = _hard(select, context)
    around = _Around.of(select, context)
    for asked in hard:
        made += _answer(asked, select, around, context, numbers)
    return made


def _hard(select: exp.Select, context: RewriteContext) -> list[CorrelatedSubquery]:
    """The queries that the engine does not run; an EXISTS that is always true is told at once."""
    found: list[CorrelatedSubquery] = []
    for asked in correlated_subqueries(select, context):
        if asked.kind == "exists" and has_always_a_row(asked.query):
            _name_holder(asked.holder, select)
            asked.holder.replace(exp.true())
        elif not runs_natively(asked, select):
            found.append(asked)
    return found


def _is_above(asked: CorrelatedSubquery, select: exp.Select) -> bool:
    """Whether a query is about groups: it stands neither in WHERE and joins nor in an aggregate."""
    if asked.holder.find_ancestor(exp.Where, exp.Join, exp.Select) is not select:
        return False
    return not is_below(asked.holder, select) and not _is_key(asked.holder, select)


def _is_key(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a node is in a result by which rows are grouped."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else []
    for place, one in enumerate(select.expressions, 1):
        if any(node is part for part in one.walk()):
            return exp.Literal.number(place) in keys or any(
                isinstance(key, exp.Column)
                and not key.table
                and key.name.casefold() == one.alias.casefold()
                for key in keys
            )
    return False


# --------------------------------------------------------------------------- the rows around


class _Varying(CannotDecorrelate):
    """The rows a query is asked about would be others when they are read again."""

    def refused(self) -> InvalidInput:
        return InvalidInput(
            "a subquery is about rows that may be others each time they are read",
            hint="Give their LIMIT an ORDER BY, or keep them first: CREATE TABLE … AS SELECT ….",
        )


@dataclass(frozen=True)
class _Around:
    """What a SELECT reads, before anything is joined to it."""

    from_: exp.Expr | None
    joins: tuple[exp.Join, ...]
    where: exp.Expr | None
    varying: frozenset[str]
    """The sources that may have other rows when they are read again."""

    @classmethod
    def of(
        cls, select: exp.Select, context: RewriteContext, before: exp.Join | None = None
    ) -> _Around:
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

    def rows(self, columns: Sequence[exp.Expr], context: RewriteContext) -> exp.Select:
        """The distinct values of some columns in its rows, or in more rows than it has.

        Where one source has them all, and no outer join adds nulls, that source is read alone.
        They are read once more, so a source with other rows then has no such values.
        """
        if self.from_ is None:
            raise CannotDecorrelate
        found = exp.Select(expressions=list(columns), distinct=exp.Distinct())
        sources = [self.from_.this, *(join.this for join in self.joins)]
        tables = {c.table.casefold() for one in columns for c in one.find_all(exp.Column)}
        owners = [s for s in sources if s.alias_or_name.casefold() in tables]
        alone = len(tables) == len(owners) == 1 and isinstance(owners[0], exp.Table | exp.Subquery)
        if alone and not any(join.side or join.args.get("using") for join in self.joins):
            sources = owners
            found.set("from_", exp.From(this=owners[0].copy()))
            kept = [part for part in self._conditions() if _is_about(part, tables)]
        else:
            found.set("from_", self.from_.copy())
            found.set("joins", self._told_joins())
            kept = self._conditions()
        if not self.varying.isdisjoint(source.alias_or_name.casefold() for source in sources):
            raise _Varying
        return found.where(*(part.copy() for part in kept), copy=False) if kept else found

    def _conditions(self) -> list[exp.Expr]:
        """What every row fulfils, as far as that is told without a query."""
        return [] if self.where is None else [p for p in _parts(self.where) if _is_told(p)]

    def _told_joins(self) -> list[exp.Join]:
        """The joins, of inner ones only what is told: the query that is asked may be in an ON."""
        found = [join.copy() for join in self.joins]
        inner = all(map(_is_inner, found))
        for join in found:
            on = join.args.get("on")
            told = [part for part in _parts(on) if _is_told(part)] if on is not None else []
            if on is None or len(told) == len(_parts(on)):
                continue
            if inner:
                join.set("on", exp.and_(*told) if told else exp.true())
            elif is_volatile(on):
                raise _Varying
        return found


def _parts(condition: exp.Expr) -> list[exp.Expr]:
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def _is_told(part: exp.Expr) -> bool:
    """Whether a condition says the same of a row again, without a query."""
    return part.find(exp.Query) is None and not is_volatile(part)


def _is_inner(join: exp.Join) -> bool:
    """Whether a join only leaves rows out, so that without its condition it has more."""
    return not join.side and join.kind not in ("SEMI", "ANTI")


def _is_about(part: exp.Expr, tables: set[str]) -> bool:
    return all(column.table.casefold() in tables for column in part.find_all(exp.Column))


def _domain(
    asked: CorrelatedSubquery,
    select: exp.Select,
    around: _Around,
    context: RewriteContext,
    number: int,
) -> tuple[Domain, list[exp.Expr]]:
    """The rows a query is asked about, and the columns of the SELECT that say which one it is.

    In the query, the columns of the domain are put in the place of the SELECT's.
    """
    meant = [qualified(column, select, context) for column in asked.outer]
    columns: list[exp.Expr] = []
    for one in meant:
        if one not in columns:
            columns.append(one)
    keys = tuple(f"{DOMAIN} {number}.{place}" for place in range(len(columns)))
    named = [exp.alias_(c.copy(), key, quoted=True) for c, key in zip(columns, keys, strict=True)]
    domain = Domain(around.rows(named, context), f"{DOMAIN} {number}", keys)
    for column, one in zip(asked.outer, meant, strict=True):
        column.replace(domain.column(keys[columns.index(one)]))
    return domain, columns


# --------------------------------------------------------------------------- answering


def _join(
    asked: CorrelatedSubquery, select: exp.Select, context: RewriteContext, numbers: Iterator[int]
) -> list[exp.Expr]:
    """A joined query: its rows for all rows before it, joined by what they are about."""
    join = asked.holder
    assert isinstance(join, exp.Join)
    source = join.this
    alias = source.args.get("alias")
    if join.side in ("RIGHT", "FULL"):
        return []
    if not isinstance(alias, exp.TableAlias) or not alias.this:
        alias = exp.TableAlias(this=quoted(f"lateral {next(numbers)}"))
    before = asked.query.copy()
    try:
        domain, columns = _domain(
            asked, select, _Around.of(select, context, join), context, next(numbers)
        )
        names = [column.name for column in alias.args.get("columns") or []]
        if names and len(names) != _width(asked.query):
            raise CannotDecorrelate
        _name_all(asked.query)
        _expand_withs(asked.query)
        rows = dependent_join(asked.query, domain, context)
    except _Varying as varying:
        raise varying.refused() from None
    except CannotDecorrelate:
        _held(join).set("this", before)
        return []
    derived = _derived(rows, alias.name, names or None, domain)
    side = "LEFT" if join.side == "LEFT" or source.args.get("cross_apply") is False else None
    on = _same(domain, alias.name, columns)
    given = join.args.get("on")
    if given is not None and given != exp.true():
        on = exp.and_(on, given.copy())
    made = exp.Join(this=derived, side=side, on=on)
    join.replace(made)
    _hide(select, domain.keys, alias.name)
    return [derived]


def _expand_withs(query: exp.Query) -> None:
    """Put the queries of a WITH where they are read: there they may be about the row, too."""
    with_ = query.args.get("with_")
    if not isinstance(with_, exp.With):
        return
    if with_.args.get("recursive"):
        raise CannotDecorrelate
    query.set("with_", None)
    ctes = list(with_.expressions)
    for place, cte in reversed(list(enumerate(ctes))):
        columns = cte.args["alias"].args.get("columns")
        for reader in [query, *(later.this for later in ctes[place + 1 :])]:
            for table in list(reader.find_all(exp.Table)):
                if table.args.get("db") or table.name.casefold() != cte.alias.casefold():
                    continue
                alias = exp.TableAlias(this=quoted(table.alias_or_name), columns=columns)
                table.replace(exp.Subquery(this=cte.this.copy(), alias=alias))


def _width(query: exp.Query) -> int | None:
    """How many results a query gives; none where a star hides it."""
    return None if any(one.is_star for one in query.selects) else len(query.selects)


def _held(join: exp.Join) -> exp.Expr:
    found: exp.Expr = join.this.this if isinstance(join.this, exp.Lateral) else join.this
    return found


def _answer(
    asked: CorrelatedSubquery,
    select: exp.Select,
    around: _Around,
    context: RewriteContext,
    numbers: Iterator[int],
) -> list[exp.Expr]:
    """Put the answer to a query in its place."""
    in_join = isinstance(asked.holder.find_ancestor(exp.Join, exp.Select), exp.Join)
    if in_join and (asked.kind == "scalar" or not all(map(_is_inner, around.joins))):
        return []
    if asked.kind == "scalar" and _width(asked.query) != 1:
        raise InvalidInput(
            "a subquery that stands for one value gives several columns", hint="Select one of them."
        )
    before = asked.query.copy()
    number = next(numbers)
    names = [f"{_VALUE} {number}.{place}" for place in range(len(asked.query.selects))]
    one_row = is_one_row(asked.query)
    try:
        if asked.kind != "exists" and _width(asked.query) is None:
            raise CannotDecorrelate
        _name_all(asked.query)
        domain, columns = _domain(asked, select, around, context, number)
        _expand_withs(asked.query)
        place = asked.query.parent
        assert place is not None
        key = asked.query.arg_key or "this"
        rows = dependent_join(asked.query, domain, context)
    except CannotDecorrelate as failure:
        if isinstance(failure, _Varying) and asked.kind == "scalar":
            raise failure.refused() from None
        asked.query.replace(before)
        return []
    alias = f"answers {number}"
    if asked.kind == "scalar":
        derived = _derived(rows, alias, names, domain)
        value: exp.Expr = exp.Column(this=quoted(names[0]), table=quoted(alias))
        counted = domain.named("count")
        if not one_row:
            derived = _derived(_first(derived, names[0], counted, domain), alias, None, domain)
            # Asked where the value is used: rows that are not there may have several.
            single = exp.func("single_row", exp.Column(this=quoted(counted), table=quoted(alias)))
            value = exp.case().when(single, value)
        joins = list(select.args.get("joins") or [])
        joins.append(exp.Join(this=derived, side="LEFT", on=_same(domain, alias, columns)))
        _name_holder(asked.holder, select)
        asked.holder.replace(value)
        select.set("joins", joins)
        _hide(select, [*domain.keys, names[0], *([] if one_row else [counted])], None)
        return [derived]
    derived = _derived(rows, alias, names if asked.kind == "member" else None, domain)
    given: list[exp.Expr] = [exp.Literal.number(1)]
    if asked.kind == "member":
        given = [exp.Column(this=quoted(name), table=quoted(alias)) for name in names]
    simple = exp.Select(expressions=given).from_(derived)
    place.set(key, simple.where(_same(domain, alias, columns), copy=False))
    return [simple]


def _same(domain: Domain, alias: str, columns: Sequence[exp.Expr]) -> exp.Expr:
    """That a row of the SELECT is the one that an answer is about."""
    pairs = zip(domain.keys, columns, strict=True)
    return exp.and_(
        *(
            exp.NullSafeEQ(
                this=exp.Column(this=quoted(key), table=quoted(alias)), expression=c.copy()
            )
            for key, c in pairs
        )
    )


def _first(rows: exp.Subquery, name: str, counted: str, domain: Domain) -> exp.Select:
    """One row for each row of the domain, and how many there are."""
    keys: list[exp.Expr] = [exp.Column(this=quoted(key)) for key in domain.keys]
    first = exp.func("first_value", exp.Column(this=quoted(name)))
    given = [
        exp.alias_(first, name, quoted=True),
        exp.alias_(exp.Count(this=exp.Star()), counted, quoted=True),
        *keys,
    ]
    found = exp.Select(expressions=given).from_(rows)
    return found.group_by(*(key.copy() for key in keys), copy=False)


def _name_all(query: exp.Expr) -> None:
    """Name the results of a query as they would be called."""
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        raise CannotDecorrelate
    named = [
        one
        if one.is_star
        else exp.Alias(this=one.unalias(), alias=quoted(one.alias or result_name(one)))
        for one in first.expressions
    ]
    first.set("expressions", named)


def _derived(
    rows: exp.Query, alias: str, names: Sequence[str] | None, domain: Domain
) -> exp.Subquery:
    """The rows as a source; with names, its columns are called so, and by the domain's keys."""
    columns = [quoted(name) for name in (*names, *domain.keys)] if names is not None else None
    return exp.Subquery(this=rows, alias=exp.TableAlias(this=quoted(alias), columns=columns))


def _name_holder(holder: exp.Expr, select: exp.Select) -> None:
    """A result that asks is called as it would be if nothing were put in its place."""
    projection: exp.Expr = holder
    while projection.parent is not None and projection.parent is not select:
        projection = projection.parent
    if projection.arg_key == "expressions" and not isinstance(projection, exp.Alias):
        results = [
            exp.Alias(this=one, alias=quoted(result_name(one))) if one is projection else one
            for one in select.expressions
        ]
        select.set("expressions", results)


def _hide(select: exp.Select, names: Sequence[str], table: str | None) -> None:
    """Keep columns that were joined out of `*`."""
    for one in select.expressions:
        star = one.this if isinstance(one, exp.Column) else one
        if not isinstance(star, exp.Star):
            continue
        if isinstance(one, exp.Column) and (
            table is None or one.table.casefold() != table.casefold()
        ):
            continue
        star.set("except_", [*(star.args.get("except_") or []), *map(quoted, names)])
