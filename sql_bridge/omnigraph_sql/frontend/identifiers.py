"""Small pieces of the queries that statements are turned into."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import quoted


def called(value: exp.Expr, name: str) -> exp.Alias:
    """An expression under a name; unlike sqlglot's own, also where it is a subquery."""
    return exp.Alias(this=value, alias=quoted(name))


def column_of(table: str, name: str) -> exp.Column:
    """A column of a source of the query."""
    return exp.Column(this=quoted(name), table=exp.to_identifier(table, quoted=True))
