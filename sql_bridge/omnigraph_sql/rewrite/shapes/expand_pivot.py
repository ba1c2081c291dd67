"""PIVOT and UNPIVOT: values become columns by aggregates, columns become rows by a join."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import column_of, quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_NAMES = "names of columns"


def expand_pivot(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Turn every table that is followed by PIVOT or UNPIVOT, and every such statement.

    SELECT * FROM (SELECT city, active, age FROM person) AS p PIVOT (max(age) FOR active IN (true,
    false))
    -> SELECT * FROM (SELECT "city", MAX(age) FILTER(WHERE active = TRUE) AS "true", MAX(age)
    FILTER(WHERE active = FALSE) AS "false" FROM (SELECT city, active, age FROM person) AS p GROUP
    BY "city") AS "p"
    """
    for source in list(find_all(tree, exp.Table, exp.Subquery)):
        if source.args.get("pivots"):
            _turn(source, context)
    for pivot in list(find_all(tree, exp.Pivot)):
        source = pivot.this
        if pivot.args.get("unpivot"):
            turned = _long(source, _unpivoting(pivot, source, context), context, source)
        else:
            turned = _wide(source, _pivoting(pivot, source, context), context, source)
        if pivot is tree:
            return turned
        pivot.replace(turned)
    return tree


def _turn(source: exp.Expr, context: RewriteContext) -> None:
    turned_source = source.copy()
    pivots = source.args["pivots"]
    turned_source.set("pivots", None)
    joins = turned_source.args.get("joins")
    turned_source.set("joins", None)
    alias: exp.Expr = exp.TableAlias(this=quoted(source.alias_or_name or "turned"))
    for pivot in pivots:
        alias = pivot.args.get("alias") or alias
        turn = _long if pivot.args.get("unpivot") else _wide
        turned = turn(turned_source, pivot, context, source)
        turned_source = exp.Subquery(this=turned, alias=alias.copy())
    turned_source.set("joins", joins)
    source.replace(turned_source)


# --------------------------------------------------------------------------- wide


def _wide(
    source: exp.Expr, pivot: exp.Pivot, context: RewriteContext, node: exp.Expr
) -> exp.Select:
    """One row per group, a column per value and aggregate."""
    aggregates = [one.unalias() for one in pivot.expressions]
    fields = pivot.args["fields"]
    columns = [name.name for name in pivot.args.get("columns") or []]
    if len(set(columns)) < len(columns):  # the parser leaves signs and truth values out of names
        columns = _column_names(fields, pivot.expressions)
    group = pivot.args.get("group")
    if group is not None:
        keys = list(group.expressions)
    else:
        used = {
            column.name.casefold()
            for part in [*aggregates, *(field.this for field in fields)]
            for column in find_all(part, exp.Column)
        }
        names = [name for name in _columns(source, context, node) if name.casefold() not in used]
        keys = [column_of(None, name) for name in names]
    values: list[exp.Expr] = []
    for chosen in product(*(field.expressions for field in fields)):
        matches = exp.and_(
            *(
                exp.EQ(this=field.this.copy(), expression=_value(one))
                for field, one in zip(fields, chosen, strict=True)
            )
        )
        for aggregate in aggregates:
            filtered = exp.Filter(this=aggregate.copy(), expression=exp.Where(this=matches.copy()))
            values.append(exp.alias_(filtered, columns[len(values)], quoted=True))
    select = exp.select(*(key.copy() for key in keys), *values).from_(source.copy())
    return select.group_by(*(key.copy() for key in keys)) if keys else select


def _value(chosen: exp.Expr) -> exp.Expr:
    """A value of IN (…); in brackets or quotes it is a text."""
    value = chosen.this if isinstance(chosen, exp.PivotAlias) else chosen
    return exp.Literal.string(value.name) if isinstance(value, exp.Column) else value.copy()


def _pivoting(pivot: exp.Pivot, source: exp.Expr, context: RewriteContext) -> exp.Pivot:
    """The statement `PIVOT t ON column USING aggregates` as the clause of a table."""
    using = list(pivot.args.get("using") or []) or [exp.Count(this=exp.Star())]
    fields = []
    for on in pivot.expressions:
        if not isinstance(on, exp.In):
            there = exp.Not(this=exp.Is(this=on.copy(), expression=exp.null()))
            query = exp.select(on.copy()).distinct().from_(source.copy()).where(there)
            values = context.first_column(_with_ctes(query.order_by(on.copy()), source))
            on = exp.In(this=on.copy(), expressions=[exp.convert(value) for value in values])
        fields.append(on)
    columns = [quoted(name) for name in _column_names(fields, using)]
    clause = exp.Pivot(expressions=using, fields=fields, columns=columns)
    clause.set("group", pivot.args.get("group"))
    return clause


def _column_names(fields: Sequence[exp.Expr], aggregates: Sequence[exp.Expr]) -> list[str]:
    """What the columns of values are called: by the value, and by the aggregate if need be."""
    names = []
    for chosen in product(*(field.expressions for field in fields)):
        text = "_".join(_written(one) for one in chosen)
        for aggregate in aggregates:
            named = aggregate.alias or (aggregate.sql().lower() if len(aggregates) > 1 else "")
            names.append(f"{text}_{named}" if named else text)
    return names


def _written(chosen: exp.Expr) -> str:
    match chosen:
        case exp.Neg():
            return f"-{_written(chosen.this)}"
        case exp.Boolean() | exp.Null():
            return chosen.sql().lower()
    return str(chosen.alias or chosen.name)


# --------------------------------------------------------------------------- long


def _long(
    source: exp.Expr, pivot: exp.Pivot, context: RewriteContext, node: exp.Expr
) -> exp.Select:
    """One row per row and column: its name, and its value or values."""
    (field,) = pivot.args["fields"]
    groups = [_members(chosen) for chosen in field.expressions]
    labels = [_label(chosen) for chosen in field.expressions]
    turned = {column.name.casefold() for group in groups for column in group}
    others = [name for name in _columns(source, context, node) if name.casefold() not in turned]
    values = [part for one in pivot.expressions for part in _members(one)]
    label = column_of(_NAMES, _NAMES)
    cases: list[exp.Expr] = []
    for number, value in enumerate(values):
        case = exp.Case(this=label.copy())
        for name, group in zip(labels, groups, strict=True):
            case = case.when(exp.Literal.string(name), group[number].copy())
        cases.append(exp.alias_(case, value.name, quoted=True))
    names = exp.Values(
        expressions=[exp.Tuple(expressions=[exp.Literal.string(name)]) for name in labels],
        alias=exp.TableAlias(this=quoted(_NAMES), columns=[quoted(_NAMES)]),
    )
    named: exp.Expr = exp.alias_(label, field.this.name, quoted=True)
    turned_columns = [*cases, named] if pivot.args.get("value_columns_first") else [named, *cases]
    unpivoted = (column_of(None, name) for name in others)
    rows = exp.select(*unpivoted, *turned_columns).from_(source.copy())
    rows.append("joins", exp.Join(this=names, kind="CROSS"))
    if pivot.args.get("include_nulls"):
        return rows
    known = exp.or_(*(column_of(None, v.name).is_(exp.null()).not_() for v in values))
    return exp.select("*").from_(rows.subquery(quoted("turned"))).where(known)


def _members(chosen: exp.Expr) -> Sequence[exp.Expr]:
    inner = chosen.this if isinstance(chosen, exp.PivotAlias) else chosen
    return list(inner.expressions) if isinstance(inner, exp.Tuple) else [inner]


def _label(chosen: exp.Expr) -> str:
    if isinstance(chosen, exp.PivotAlias):
        return str(chosen.args["alias"].name)
    return "_".join(column.name for column in _members(chosen))


def _unpivoting(pivot: exp.Pivot, source: exp.Expr, context: RewriteContext) -> exp.Pivot:
    """The statement `UNPIVOT t ON columns INTO NAME n VALUE v` as the clause of a table."""
    into = pivot.args.get("into")
    name = into.this.name if into is not None else "name"
    values = [one.name for one in into.expressions] if into is not None else ["value"]
    columns: list[exp.Expr] = []
    for one in pivot.expressions:
        if isinstance(one, exp.Star):
            left_out = {e.name.casefold() for e in one.args.get("except_") or []}
            names = [n for n in _columns(source, context, source) if n.casefold() not in left_out]
            columns += [column_of(None, n) for n in names]
        else:
            columns.append(one)
    field = exp.In(this=quoted(name), expressions=columns)
    return exp.Pivot(expressions=[quoted(value) for value in values], fields=[field])


# --------------------------------------------------------------------------- columns


def _columns(source: exp.Expr, context: RewriteContext, node: exp.Expr) -> list[str]:
    """The columns of a source that stands, or stood, at a node of the statement."""
    return context.column_names(_with_ctes(exp.select("*").from_(source.copy()), node))


def _with_ctes(query: exp.Select, source: exp.Expr) -> exp.Select:
    """A query that knows the WITHs which stand around a source."""
    ctes: list[exp.Expr] = []
    node = source.parent
    while node is not None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            if with_.args.get("recursive"):
                raise InvalidInput(
                    "PIVOT is not supported in a statement with a recursive WITH",
                    hint="Make a table or a view of the recursive query first.",
                )
            numbered = enumerate(with_.expressions)
            before = next((i for i, cte in numbered if any(n is source for n in cte.walk())), None)
            ctes = [cte.copy() for cte in with_.expressions[:before]] + ctes
        node = node.parent
    if ctes:
        query.set("with_", exp.With(expressions=ctes))
    return query
