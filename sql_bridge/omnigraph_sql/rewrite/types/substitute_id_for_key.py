"""A row that is looked up by its key is found by its id: the same text, and it has an index."""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import alias_columns, owner_of, sources_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def substitute_id_for_key(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Compare ids where keys are compared with texts; both have the same answer.

    SELECT age FROM person AS p WHERE name = 'ada'
    -> SELECT age FROM person AS p WHERE "id" = 'ada'
    """
    keys = {
        name: read.table.key for name, read in context.reads.items() if read.table.key is not None
    }
    if keys:
        for comparison in find_all(tree, exp.EQ, exp.In):
            for column in _compared_with_texts(comparison):
                if _chooses_rows(comparison) and _is_key(column, keys, context):
                    column.set("this", quoted("id"))
    return tree


def _chooses_rows(comparison: exp.Expr) -> bool:
    """Whether it stands where rows are chosen: elsewhere the key may be known, and not the id."""
    clause = comparison.find_ancestor(exp.Where, exp.Join, exp.Select, exp.Having, exp.Qualify)
    return isinstance(clause, exp.Where | exp.Join)


def _compared_with_texts(comparison: exp.Expr) -> list[exp.Column]:
    if isinstance(comparison, exp.In):
        sides, others = [comparison.this], comparison.expressions
    else:
        sides = [comparison.this, comparison.expression]
        others = [side for side in sides if not isinstance(side, exp.Column)]
    if not others or not all(_is_text(other) for other in others):
        return []
    return [side for side in sides if isinstance(side, exp.Column)]


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Parameter) or (isinstance(node, exp.Literal) and node.is_string)


def _is_key(column: exp.Column, keys: dict[str, str], context: RewriteContext) -> bool:
    """Whether a column is certainly the key of a table of its own SELECT."""
    select = column.find_ancestor(exp.Select)
    if select is None:
        return False
    if not column.table and len(sources_of(select)) > 1:
        return False  # each of them may have an id
    source = owner_of(column.name, column.table, select, context)
    if not isinstance(source, exp.Table) or alias_columns(source):
        return False  # not a table, or its columns are called otherwise here
    return keys.get(source.name) == column.name
