"""The tables of a statement that writes, as far as they exist: their columns type parameters."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_sql.catalog.find_relation import find_relation
from omnigraph_sql.frontend.identifiers import name_parts
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def target_schema(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Learn the columns of the tables that a statement names; changes nothing."""
    insert = tree if isinstance(tree, exp.Insert) else None
    target = insert.find(exp.Table) if insert is not None else None
    for table in find_all(tree, exp.Table):
        if not isinstance(table.this, exp.Identifier):
            continue
        names = name_parts(table)
        try:
            schema = find_relation(context.pins, context.schema, names).schema
        except (NotFound, InvalidInput):
            continue
        if schema is not None:
            context.know(table.alias_or_name, schema)
            if table is target:
                context.target = schema
    return tree
