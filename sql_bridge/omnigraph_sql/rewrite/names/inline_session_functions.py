"""Functions of the session (`current_user`, `current_schema()`, `version()`) become constants."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from sqlglot import exp

from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext

_Value = Callable[[RewriteContext], str | None]
_FUNCTIONS: dict[type[exp.Func], _Value] = {
    exp.CurrentUser: lambda context: context.user,
    exp.SessionUser: lambda context: context.user,
    exp.CurrentCatalog: lambda context: context.pins.current,
    exp.CurrentDatabase: lambda context: context.pins.current,
    exp.CurrentSchema: lambda context: context.schema,
    exp.CurrentVersion: lambda context: product_version(),
}
_NAMES: dict[str, _Value] = {
    "version": lambda context: product_version(),
    "database": lambda context: context.pins.current,
    "db_name": lambda context: context.pins.current,
    "schema_name": lambda context: context.schema,
    "user": lambda context: context.user,
    "suser_sname": lambda context: context.user,
}
_SETTINGS: dict[str, _Value] = {
    "timezone": lambda context: "UTC",
    "search_path": lambda context: context.schema,
}


def inline_session_functions(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Put the value in the place of each call.

    SELECT current_user, current_setting('timezone') AS zone
    -> SELECT 'ada' AS "current_user", 'UTC' AS zone
    """
    for node in list(find_all(tree, *_FUNCTIONS, exp.Anonymous)):
        assert isinstance(node, exp.Func)
        if not isinstance(node, exp.Anonymous):
            value_of = _FUNCTIONS.get(type(node))
        elif node.expressions:
            value_of = _setting(node)
        else:
            value_of = _NAMES.get(str(node.this).lower())
        if value_of is None:
            continue
        context.cacheable = False
        text = value_of(context)
        value: exp.Expr = exp.Null() if text is None else exp.Literal.string(text)
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            value = exp.alias_(value, _name(node), quoted=True)
        node.replace(value)
    return tree


def _setting(node: exp.Anonymous) -> _Value | None:
    """`current_setting('timezone')`, which clients read before they show times."""
    if str(node.this).lower() != "current_setting":
        return None
    name = str(node.expressions[0].name).lower()
    return _SETTINGS.get(name) or (lambda context: None)


def product_version() -> str:
    """The product and its version."""
    try:
        return f"OmniGraph {version('omnigraph-sql')}"
    except PackageNotFoundError:
        return "OmniGraph"


def _name(node: exp.Func) -> str:
    return (
        str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).sql_name().lower()
    )
