"""Table functions of the graph become the rows they give."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.graph_functions import UNBOUND, TableFunctionCall, call_function
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def bind_table_functions(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Call what stands where a table does; series get the names that other databases give.

    SELECT n FROM generate_series(1, 3) AS n
    -> SELECT n FROM GENERATE_SERIES(1, 3) AS n(n)
    """
    for table in list(find_all(tree, exp.Table)):
        function = table.this
        if isinstance(function, exp.GenerateSeries):
            _name_series(table, function)
        elif isinstance(function, exp.Func):
            _call(table, function, context)
    for unnest in find_all(tree, exp.Unnest):
        _name_elements(unnest)
    return tree


def _call(table: exp.Table, function: exp.Func, context: RewriteContext) -> None:
    name = str(function.this) if isinstance(function, exp.Anonymous) else function.sql_name()
    positional, names = [], {}
    for argument in _arguments(function):
        if isinstance(argument, exp.Kwarg | exp.PropertyEQ):
            names[argument.this.name.lower()] = _value(argument.expression, context)
        else:
            positional.append(_value(argument, context))
    catalog = table.catalog or context.pins.current
    stored = context.pins.snapshot(catalog).definition("query", name) is not None
    folded = name if stored else name.lower()
    rows = call_function(TableFunctionCall(folded, context.pins, catalog, positional, names))
    context.cacheable = False
    alias = table.args.get("alias") or exp.TableAlias(this=quoted(name.lower()))
    context.know(alias.name or name, rows.schema)
    table.set("this", quoted(context.register_temporary(rows)))
    table.set("db", None)
    table.set("catalog", None)
    table.set("alias", alias)


def _arguments(function: exp.Func) -> list[exp.Expr]:
    if isinstance(function, exp.Anonymous):
        return list(function.expressions)
    return [value for value in function.args.values() if isinstance(value, exp.Expr)]


def _value(argument: exp.Expr, context: RewriteContext) -> Any:  # noqa: ANN401
    """What an argument says: a literal, a list of them, a parameter's value, or a query's rows."""
    match argument:
        case exp.Literal():
            value = argument.to_py()
            return float(value) if isinstance(value, Decimal) else value
        case exp.Boolean():
            return bool(argument.this)
        case exp.Null():
            return None
        case exp.Neg():
            return -_value(argument.this, context)
        case exp.Paren() | exp.Cast():
            return _value(argument.this, context)
        case exp.Array() if not any(isinstance(e, exp.Query) for e in argument.expressions):
            return [_value(item, context) for item in argument.expressions]
        case exp.Parameter():
            context.calls_with_parameters = True
            bound = context.values.get(argument.name) if context.values is not None else None
            return UNBOUND if bound is None else bound.as_py()
        case exp.Subquery() | exp.Query():
            query = argument.this if isinstance(argument, exp.Subquery) else argument
            return context.first_column(query)
        case exp.Array():
            return context.first_column(argument.expressions[0])
    raise InvalidInput(
        f"{argument.sql()} cannot be an argument of a table function",
        hint="Give a literal, a list, a parameter or a query in parentheses.",
    )


def _name_series(table: exp.Table, function: exp.GenerateSeries) -> None:
    """A series is called as its function, and so is its column, unless an alias says otherwise."""
    name = "range" if function.args.get("is_end_exclusive") else "generate_series"
    alias = table.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or not alias.this:
        alias = exp.TableAlias(this=quoted(name))
    if not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy()])
    table.set("alias", alias)


def _name_elements(unnest: exp.Unnest) -> None:
    alias = unnest.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.this and not alias.args.get("columns"):
        alias.set("columns", [alias.this.copy()])
