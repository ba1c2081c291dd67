"""Shapes that DataFusion lacks, in shapes that it has."""

from __future__ import annotations

import re

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.conjuncts import COMPARISONS
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import alias_columns, first_select
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_STRICT: dict[type[exp.Expr], type[exp.Expr]] = {exp.LTE: exp.LT, exp.GTE: exp.GT}
_MONTH_FIRST = re.compile(r"^(\d\d)/(\d\d)/(\d{4})")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_BINARY = ("c", "posix", "default", "binary", "ucs_basic", "utf8_binary")
"""Collations that compare characters."""
_SHORT_OFFSET = re.compile(r"(:\d\d(?:\.\d+)?[+-])(\d)$")


def normalize_syntax(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Columns of WITHs, ORDER BY ALL, FETCH, texts of times, rows compared, semi joins, `+`.

    SELECT * FROM t WHERE (a, b) < (1, 2) FETCH FIRST 3 ROWS ONLY
    -> SELECT * FROM t WHERE (a < 1 OR (a = 1 AND (b < 2))) LIMIT 3
    """
    for cte in list(find_all(tree, exp.CTE)):
        _push_columns(cte)
        _read_recursive_columns(cte)
    for text in list(find_all(tree, exp.ByteString)) if context.dialect == "postgres" else []:
        text.replace(exp.Literal.string(_unescaped(str(text.this))))
    for collated in list(find_all(tree, exp.Collate)):
        _drop_collation(collated)
    for escape in list(find_all(tree, exp.Escape)):
        _escape(escape)
    for order in list(find_all(tree, exp.Order)):
        _order_by_all(order)
    for fetch in list(find_all(tree, exp.Fetch)):
        _limit(fetch)
    for array in list(find_all(tree, exp.Array)):
        _collect(array)
    for comparison in list(find_all(tree, *COMPARISONS)):
        _compare_rows(comparison)
    for join in find_all(tree, exp.Join):
        _choose_elements(join)
        if join.kind in ("SEMI", "ANTI") and not join.side:
            join.set("side", "LEFT")
    for cast in find_all(tree, exp.Cast):
        _plain_time(cast, context)
    if context.dialect == "tsql":
        for add in list(find_all(tree, exp.Add)):
            if _is_text(add.this) or _is_text(add.expression):
                add.replace(exp.DPipe(this=add.this.copy(), expression=add.expression.copy()))
    return tree


def _push_columns(cte: exp.CTE) -> None:
    """`WITH t(n) AS (SELECT 1 …)` is `WITH t AS (SELECT 1 AS n …)`: recursion needs it so."""
    alias = cte.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return
    columns, first = alias.args.get("columns"), first_select(cte.this)
    if not columns or first is None or len(first.expressions) != len(columns):
        return
    if any(projection.is_star for projection in first.expressions):
        return
    named = [
        exp.alias_(projection.unalias(), column.copy())
        for projection, column in zip(first.expressions, columns, strict=True)
    ]
    first.set("expressions", named)
    alias.set("columns", None)


def _read_recursive_columns(cte: exp.CTE) -> None:
    """Read every column of a recursive WITH.

    DataFusion leaves a column out that nobody reads, and then takes others for it in each round.
    """
    with_, union = cte.parent, cte.this
    if not isinstance(with_, exp.With) or not with_.args.get("recursive"):
        return
    if not isinstance(union, exp.SetOperation) or with_.parent is None:
        return
    if not all(isinstance(one, exp.Alias | exp.Column) for one in union.selects):
        return
    names = [one.alias_or_name for one in union.selects]
    pairs = [part for n in names for part in (exp.Literal.string(n), exp.column(n))]
    present = exp.Not(this=exp.Is(this=exp.func("named_struct", *pairs), expression=exp.null()))
    own = {id(node) for node in find_all(cte, exp.Table)}
    for table in list(find_all(with_.parent, exp.Table)):
        if table.name.casefold() != cte.alias.casefold() or table.args.get("db"):
            continue
        if id(table) in own:
            continue
        columns = [exp.to_identifier(name) for name in alias_columns(table)]
        alias = exp.TableAlias(this=quoted(table.alias_or_name), columns=columns or None)
        rows = exp.select("*").from_(exp.Table(this=table.this.copy())).where(present.copy())
        derived = exp.Subquery(this=rows, alias=alias)
        for clause in ("joins", "pivots", "sample", "laterals"):
            derived.set(clause, table.args.get(clause))
        table.replace(derived)


def _plain_time(cast: exp.Cast, context: RewriteContext) -> None:
    """`-0` at the end is the offset -00; Postgres reads 09/30/2023 as month, day and year."""
    text = cast.this
    if not cast.to.is_type(*exp.DataType.TEMPORAL_TYPES) or not isinstance(text, exp.Literal):
        return
    plain = _SHORT_OFFSET.sub(r"\g<1>0\g<2>", text.name)
    if context.dialect == "postgres":
        plain = _MONTH_FIRST.sub(r"\g<3>-\g<1>-\g<2>", plain)
    text.set("this", plain)


def _compare_rows(comparison: exp.Expr) -> None:
    """`(a, b) < (c, d)` place by place, as SQL has it: DataFusion compares nulls like values."""
    left, right = comparison.this, comparison.expression
    if not (isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple)):
        return
    pairs = list(zip(left.expressions, right.expressions, strict=False))
    if len(left.expressions) != len(right.expressions) or not pairs:
        raise InvalidInput(
            "rows of different lengths are compared", hint="Give both the same number of values."
        )
    kind = type(comparison)
    condition: exp.Expr
    if kind in (exp.EQ, exp.NEQ):
        same = exp.and_(*(exp.EQ(this=a.copy(), expression=b.copy()) for a, b in pairs))
        condition = same if kind is exp.EQ else exp.not_(exp.paren(same))
    else:
        strict = _STRICT.get(kind, kind)
        *earlier, last = pairs
        condition = kind(this=last[0].copy(), expression=last[1].copy())
        for a, b in reversed(earlier):
            same = exp.EQ(this=a.copy(), expression=b.copy())
            before = strict(this=a.copy(), expression=b.copy())
            condition = exp.or_(before, exp.and_(same, exp.paren(condition)))
    comparison.replace(exp.paren(condition))


def _order_by_all(order: exp.Order) -> None:
    select = order.parent
    if len(order.expressions) != 1 or not isinstance(select, exp.Select):
        return
    (key,) = order.expressions
    name = key.this if isinstance(key, exp.Ordered) else key
    if not isinstance(name, exp.Var | exp.Column) or name.name.upper() != "ALL":
        return
    keys = [key.copy() for _ in select.expressions]
    for position, one in enumerate(keys, 1):
        one.set("this", exp.Literal.number(position))
    order.set("expressions", keys)


def _limit(fetch: exp.Fetch) -> None:
    options = fetch.args.get("limit_options")
    special = options is not None and (options.args.get("percent") or options.args.get("with_ties"))
    if fetch.parent is not None and not special:
        count = fetch.args.get("count") or exp.Literal.number(1)
        fetch.parent.set("limit", exp.Limit(expression=count.copy()))


def _choose_elements(join: exp.Join) -> None:
    """`LEFT JOIN UNNEST(list) ON …` joins a query: it keeps rows of which no element counts."""
    source, on = join.this, join.args.get("on")
    unnest = source.this if isinstance(source, exp.Lateral) else source
    if join.side != "LEFT" or on is None or on == exp.true() or not isinstance(unnest, exp.Unnest):
        return
    alias = source.args.get("alias") or unnest.args.get("alias")
    if isinstance(alias, exp.TableAlias) and unnest.find(exp.Column):
        elements = unnest.copy()
        elements.set("alias", alias.copy())
        rows = exp.select("*").from_(elements)
        if len(alias.columns) == 1:
            rows = exp.select(exp.column(alias.columns[0].copy())).from_(elements)
        name = exp.TableAlias(this=alias.this.copy())
        join.set("this", exp.Lateral(this=exp.Subquery(this=rows), alias=name))


def _escape(escape: exp.Escape) -> None:
    """`LIKE … ESCAPE '!'` with the escape that DataFusion knows, a backslash."""
    like, char = escape.this, escape.expression.name
    pattern = like.expression
    if char == "\\" or not isinstance(pattern, exp.Literal) or len(char) > 1:
        return
    escaped = re.compile(rf"{re.escape(char) or '(?!)'}(.)|\\", re.S)
    written = escaped.sub(lambda found: "\\" + (found[1] or "\\"), pattern.name)
    like.set("expression", exp.Literal.string(written))
    escape.replace(like)


def _unescaped(text: str) -> str:
    """The text of `e'…'`."""

    def meant(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(meant, text)


def _drop_collation(collated: exp.Collate) -> None:
    """Texts are compared by their characters, which is the collation "C"."""
    name = collated.expression.name
    if name.casefold() not in _BINARY:
        raise InvalidInput(
            f"there is no collation {name!r}", hint='Use "C", or sort by lower(…) of the text.'
        )
    collated.replace(collated.this.copy())


def _collect(array: exp.Array) -> None:
    """`ARRAY(SELECT …)` is an aggregate: an empty list where there is no row."""
    query = array.expressions[0] if len(array.expressions) == 1 else None
    if not isinstance(query, exp.Query) or len(query.selects) != 1:
        return
    query = query.copy()
    sorts: list[exp.Expr] = []
    first = first_select(query)
    if first is None:
        return
    value = first.selects[0]
    first.set("expressions", [exp.alias_(value.unalias(), "element")])
    order = query.args.get("order")
    for position, key in enumerate(order.expressions if order else []):
        if _names(key.this, value) or key.this in (value.unalias(), exp.Literal.number(1)):
            name = "element"
        elif query is not first or query.args.get("distinct"):
            raise InvalidInput(
                "ARRAY(SELECT …) is sorted by an expression that it does not select",
                hint="Sort by its elements.",
            )
        else:
            name = f"sort_{position}"
            query.append("expressions", exp.alias_(key.this.copy(), name))
        sorts.append(key.copy())
        sorts[-1].set("this", exp.column(name))
    if not query.args.get("limit") and not query.args.get("offset"):
        query.set("order", None)
    elements: exp.Expr = exp.column("element")
    if sorts:
        elements = exp.Order(this=elements, expressions=sorts)
    collected = exp.func("coalesce", exp.ArrayAgg(this=elements), exp.Array(expressions=[]))
    array.replace(exp.Subquery(this=exp.select(collected).from_(query.subquery("elements"))))


def _names(key: exp.Expr, value: exp.Expr) -> bool:
    """Whether rows are sorted by the name of a result, which has no table."""
    plain = isinstance(key, exp.Column) and not key.table
    return plain and key.name.casefold() == value.alias_or_name.casefold()


def _is_text(expression: exp.Expr) -> bool:
    return (isinstance(expression, exp.Literal) and expression.is_string) or isinstance(
        expression, exp.DPipe | exp.Concat
    )
