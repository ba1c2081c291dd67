"""Questions about the session (`current_user`, `current_schema()`, `version()`) are answered."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import RewriteContext

_ANSWERS: dict[type[exp.Func], Callable[[RewriteContext], str | None]] = {
    exp.CurrentUser: lambda scope: scope.user,
    exp.SessionUser: lambda scope: scope.user,
    exp.CurrentCatalog: lambda scope: scope.pins.current,
    exp.CurrentDatabase: lambda scope: scope.pins.current,
    exp.CurrentSchema: lambda scope: scope.schema,
    exp.CurrentVersion: lambda scope: product_version(),
}
_NAMES: dict[str, Callable[[RewriteContext], str | None]] = {
    "version": lambda scope: product_version(),
    "database": lambda scope: scope.pins.current,
    "db_name": lambda scope: scope.pins.current,
    "schema_name": lambda scope: scope.schema,
    "user": lambda scope: scope.user,
    "suser_sname": lambda scope: scope.user,
}
_SETTINGS: dict[str, Callable[[RewriteContext], str | None]] = {
    "timezone": lambda scope: "UTC",
    "search_path": lambda scope: scope.schema,
}


def inline_session_functions(tree: exp.Expr, scope: RewriteContext) -> exp.Expr:
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
        scope.cacheable = False
        found = answer(scope)
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
    return _SETTINGS.get(name) or (lambda scope: None)


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
