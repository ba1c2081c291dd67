"""Lists of a table's rows as rows: `FROM t, unnest(t.list)`, LATERAL VIEW explode, FLATTEN.

DataFusion unnests where columns are computed, not where tables stand, so the table whose list it
is gets a column more, and a row for each element.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import derived_table, quoted
from omnigraph_sql.frontend.sql_types import arrow_name
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import columns_of, may_own, sources_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference


def unnest_columns(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Move every unnesting of a table's own column into that table.

    SELECT p.name, t.tag FROM person AS p, UNNEST(p.tags) AS t(tag)
    -> SELECT p.name, "p"."tag" FROM (SELECT *, UNNEST(p.tags) AS "tag" FROM person AS p) AS "p"
    """
    for select in list(find_all(tree, exp.Select)):
        for join in list(select.args.get("joins") or []):
            values = _list_of(join.this)
            if values is not None and values.find(exp.Column):
                on = join.args.get("on") or exp.true()
                if join.side not in (None, "", "LEFT"):
                    raise InvalidInput(
                        "UNNEST of a column is not supported in a RIGHT or FULL join",
                        hint="Write JOIN or LEFT JOIN UNNEST(…).",
                    )
                _move(select, join.this, values, join.side == "LEFT", context)
                join.pop()
                if on != exp.true():
                    select.where(on.copy(), copy=False)
        for lateral in list(select.args.get("laterals") or []):
            values = _list_of(lateral)
            if values is not None and values.find(exp.Column):
                _move(select, lateral, values, bool(lateral.args.get("outer")), context)
                lateral.pop()
    return tree


def _list_of(source: exp.Expr) -> exp.Expr | None:
    """The list that a source unnests; none where it is something else."""
    inner = source.this if isinstance(source, exp.Lateral) else source
    if isinstance(inner, exp.Unnest):
        if inner.args.get("offset") or len(inner.expressions) != 1:
            raise InvalidInput(
                "UNNEST of a column takes one list, without ordinality",
                hint="Number the elements with row_number() OVER (…).",
            )
        found: exp.Expr = inner.expressions[0]
        return found
    if isinstance(inner, exp.Explode):
        given: exp.Expr = inner.this
        return given.args["expression"] if isinstance(given, exp.Kwarg) else given
    return None


def _move(
    select: exp.Select, source: exp.Expr, values: exp.Expr, outer: bool, context: RewriteContext
) -> None:
    owner = _owner(select, source, values, context)
    alias = source.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        raise InvalidInput("an unnested list needs a name", hint="Write UNNEST(…) AS t(element).")
    name = _element_name(alias)
    known = [column.casefold() for column in columns_of(owner, context) or []]
    inner_name = f"{name} of {alias.name}" if name.casefold() in known else name
    if outer:
        values = _never_empty(values, context)
    rows = exp.select("*", exp.alias_(exp.Explode(this=values.copy()), inner_name, quoted=True))
    owner_name = owner.alias_or_name
    owner.replace(derived_table(rows.from_(owner.copy()), owner_name))
    mine = {alias.name.casefold()} if alias.name else set()
    for column in find_all(select, exp.Column):
        table = column.table.casefold()
        if column.name.casefold() == name.casefold() and table in (mine or {""}):
            column.set("table", quoted(owner_name))
            column.set("this", quoted(inner_name))


def _element_name(alias: exp.TableAlias) -> str:
    names: list[str] = [column.name for column in alias.args.get("columns") or []]
    flattened = [name for name in names if name.upper() == "VALUE"]
    return (flattened or names or [str(alias.name)])[0]


def _owner(
    select: exp.Select, source: exp.Expr, values: exp.Expr, context: RewriteContext
) -> exp.Expr:
    """The one table whose column it is."""
    others = [
        s for s in sources_of(select) if s is not source and isinstance(s, exp.Table | exp.Subquery)
    ]
    columns = list(find_all(values, exp.Column))
    owners = [s for s in others if any(may_own(s, column, context) for column in columns)]
    if len(owners) != 1:
        raise InvalidInput(
            f"{values.sql()} is not a column of exactly one table",
            hint="Say whose column it is, and unnest lists of one table at a time.",
        )
    return owners[0]


def _never_empty(values: exp.Expr, context: RewriteContext) -> exp.Expr:
    """A list that holds a null where it has nothing: its row is kept."""
    type_ = TypeInference(context, guess=True).of(values)
    if type_ is None:
        raise InvalidInput(
            "the type of this list is not known here", hint="Unnest a column, or CAST the list."
        )
    element = exp.func("arrow_cast", exp.null(), exp.Literal.string(arrow_name(type_.value_type)))
    filled = exp.GT(this=exp.ArraySize(this=values.copy()), expression=exp.Literal.number(0))
    return exp.case().when(filled, values.copy()).else_(exp.Array(expressions=[element]))
