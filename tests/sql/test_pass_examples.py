"""Each pass shows in its docstring what it makes of a statement, and does so.

An example is a paragraph: a statement, and after `->` what the pass alone makes of it. Tables are
written by their names, whatever they are registered as.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from sqlglot import exp, parse_one

import omnigraph_sql
from omnigraph_sql.planning.plan_query import plan_query
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite import PASSES
from omnigraph_sql.rewrite.names.resolve_tables import resolve_tables

Pass = Callable[[exp.Expr, RewriteContext], exp.Expr]


def example_of(apply: Pass) -> tuple[str, str]:
    """The statement and the result of a pass's example."""
    paragraphs = (inspect.getdoc(apply) or "").split("\n\n")
    examples = [" ".join(text.split()).split(" -> ") for text in paragraphs if "\n-> " in text]
    assert len(examples) == 1, f"{apply.__name__} has no example, or several"
    given, made = examples[0]
    return given, made


def context_of(connection: omnigraph_sql.Connection) -> RewriteContext:
    pins = connection.pins()
    return RewriteContext(
        pins,
        "main",
        connection.dialect,
        connection.datafusion,
        user="ada",
        column_names=lambda query: list(plan_query(connection, query, pins).schema.names),
    )


def result_of(apply: Pass, given: str, context: RewriteContext) -> str:
    """What a pass makes of a statement whose tables are resolved, if the pass comes after that."""
    tree = parse_one(given, read=context.dialect)
    names = {table.alias_or_name: table.name for table in tree.find_all(exp.Table)}
    if PASSES.index(apply) > PASSES.index(resolve_tables):
        tree = resolve_tables(tree, context)
    tree = apply(tree, context)
    for table in tree.find_all(exp.Table):
        if table.name in context.registered:
            name = next(n for alias, n in names.items() if alias.lower() == table.alias.lower())
            table.set("this", exp.to_identifier(f"{name}@…" if apply is resolve_tables else name))
    return tree.sql(dialect="postgres")


@pytest.mark.parametrize("apply", PASSES, ids=lambda apply: apply.__name__)
def test_a_pass_does_what_its_example_says(
    apply: Pass, shared_connection: omnigraph_sql.Connection
) -> None:
    given, made = example_of(apply)
    assert result_of(apply, given, context_of(shared_connection)) == made
