"""`?`, `$1` and `:name` become `$1`, `$2`, …: values are bound to them, never written into text."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.rewriting.scope import Scope


def number_parameters(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Number the parameters by place, or by their own number or name."""
    # In the order of the text: `find_all` goes by breadth, which is not it.
    found = [n for n in tree.dfs() if isinstance(n, exp.Placeholder | exp.Parameter)]
    kinds = {_kind(node) for node in found}
    if len(kinds) > 1:
        raise InvalidInput(
            "parameters are written in different ways", hint="Use only ?, only $1 or only :name."
        )
    for node in found:
        name = parameter_name(node)
        if name is None:
            scope.parameters.append(str(len(scope.parameters) + 1))
            number = len(scope.parameters)
        elif name.isdigit():
            number = int(name)
            if not 1 <= number <= 1000:
                raise InvalidInput(f"${name} is no parameter", hint="They begin with $1.")
            while len(scope.parameters) < number:
                scope.parameters.append(str(len(scope.parameters) + 1))
        else:
            if name not in scope.parameters:
                scope.parameters.append(name)
            number = scope.parameters.index(name) + 1
        node.replace(exp.Parameter(this=exp.Literal.number(number)))
    return tree


def parameter_name(node: exp.Expr) -> str | None:
    """What a parameter is called: its number or name; none for `?`."""
    name = node.this
    if isinstance(name, exp.Expr):
        name = name.name
    return str(name) if name not in (None, "", "?") else None


def _kind(node: exp.Expr) -> str:
    name = parameter_name(node)
    return "?" if name is None else "$" if name.isdigit() else ":"
