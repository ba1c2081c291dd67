"""Parameters of statements that write, numbered before the statement is taken apart."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.rewriting.number_parameters import parameter_name


def numbered(statement: exp.Expr) -> exp.Expr:
    """`?` by its place in the text: parts of the statement may be moved or repeated after this."""
    number = 0
    for node in [n for n in statement.dfs() if isinstance(n, exp.Placeholder | exp.Parameter)]:
        if parameter_name(node) is None:
            number += 1
            node.replace(exp.Parameter(this=exp.Literal.number(number)))
    return statement


def is_parameter(value: exp.Expr) -> bool:
    """Whether an expression is a parameter and nothing else."""
    return isinstance(value, exp.Parameter | exp.Placeholder)
