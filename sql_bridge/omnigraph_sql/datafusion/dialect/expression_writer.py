"""How an expression is written: functions from a node to text, and the two usual kinds of them."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from sqlglot import exp, generator

ExpressionWriter = Callable[[generator.Generator, Any], str]


def named_call(name: str, *args: str) -> ExpressionWriter:
    """The same function under DataFusion's name, with those of its arguments."""

    def write(self: generator.Generator, expression: exp.Expr) -> str:
        given = [expression.args[arg] for arg in args if expression.args.get(arg) is not None]
        return self.func(name, *given)

    return write


def template(text: str) -> ExpressionWriter:
    """A text with the arguments of the expression where it names them: `CAST({this} AS DATE)`."""
    names = {name for _, name, _, _ in Formatter().parse(text) if name}

    def write(self: generator.Generator, expression: exp.Expr) -> str:
        return text.format(**{name: self.sql(expression, name) for name in names})

    return write
