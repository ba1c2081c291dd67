"""`?`, `$1` and `:name` become `$1`, `$2`, …: values are bound to them, never written into text."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.parse_errors import mixed_parameters
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext

MAX_PARAMETERS = 10_000


def number_parameters(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Number the parameters: by their own number, or by the place of their name.

    SELECT name FROM person WHERE age > :age AND city = :city
    -> SELECT name FROM person WHERE age > $1 AND city = $2
    """
    parameters = list(find_all(tree, exp.Placeholder, exp.Parameter))
    names = [parameter_name(node) for node in parameters]
    if len({name.isdigit() for name in names}) > 1:
        raise mixed_parameters()
    if names and names[0].isdigit():
        most = max(int(name) for name in names)
        least = min(int(name) for name in names)
        if most > MAX_PARAMETERS or least < 1:
            raise InvalidInput(
                f"there is no parameter ${most if least else 0}",
                hint=f"They begin with $1 and end with ${MAX_PARAMETERS}; for more values, bind a "
                "list, or load them into a table.",
            )
        context.parameters = [str(number) for number in range(1, most + 1)]
    else:
        context.parameters = sorted(set(names))
    for node, name in zip(parameters, names, strict=True):
        number = context.parameters.index(name) + 1
        node.replace(exp.Parameter(this=exp.Literal.number(number)))
    return tree


def parameter_name(node: exp.Expr) -> str:
    """What a parameter is called: its number or name."""
    name = node.this
    return str(name.name if isinstance(name, exp.Expr) else name)
