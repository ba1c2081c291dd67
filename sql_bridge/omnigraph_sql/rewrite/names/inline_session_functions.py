"""Questions about the session (`current_user`, `current_schema()`, `version()`) are answered."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import RewriteContext

_ANSWERS: dict[type[exp.Func], Callable[[RewriteContext], str | None]] = {
    exp.CurrentUser: lambda context: context.user,
    exp.SessionUser: lambda context: context.user,
    exp.CurrentCatalog: lambda context: context.pins.current,
    exp.CurrentDatabase: lambda context: context.pins.current,
    exp.CurrentSchema: lambda context: context.schema,
    exp.CurrentVersion: lambda context: product_version(),
}
_NAMES: dict[str, Callable[[RewriteContext], str | None]] = {
    "version": lambda context: product_version(),
    "database": lambda context: context.pins.current,
    "db_name": lambda context: context.pins.current,
    "schema_name": lambda context: context.schema,
    "user": lambda context: context.user,
    "suser_sname": lambda context: context.user,
}
_SETTINGS: dict[str, Callable[[RewriteContext], str | None]] = {
    "timezone": lambda context: "UTC",
    "search_path": lambda context: context.schema,
}


def inline_session_functions(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Put the answers in."""
    for node in list(tree.find_all(*_ANSWERS, exp.Anonymous)):
        assert isinstance(node, exp.Func)
        answer = (
            _NAMES.get(str(node.this).lower())
            if isinstance(node, exp.Anonymous)
            else _ANSWERS.get(type(node))
        )
        if isinstance(node, exp.Anonymous) and node.expressions:
            answer = _setting(node)
        if answer is None:
            continue
        context.cacheable = False
        found = answer(context)
        value: exp.Expr = exp.Null() if found is None else exp.Literal.string(found)
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            value = exp.alias_(value, _name(node), quoted=True)
        node.replace(value)
    return tree


def _setting(node: exp.Anonymous) -> Callable[[RewriteContext], str | None] | None:
    """`current_setting('timezone')`, which clients ask before they show times."""
    if str(node.this).lower() != "current_setting":
        return None
    name = str(node.expressions[0].name).lower()
    return _SETTINGS.get(name) or (lambda context: None)


def product_version() -> str:
    """Who answers."""
    try:
        return f"OmniGraph {version('omnigraph-sql')}"
    except PackageNotFoundError:
        return "OmniGraph"


def _name(node: exp.Func) -> str:
    return (
        str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).sql_name().lower()
    )
