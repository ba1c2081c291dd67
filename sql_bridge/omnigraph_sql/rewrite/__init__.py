"""From the tree of a dialect to one the engine runs: a visible pipeline of small passes.

Each pass is one function in a file of its name; it changes the tree it is given, which is a copy.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.names.bind_table_functions import bind_table_functions
from omnigraph_sql.rewrite.names.expand_using import expand_using
from omnigraph_sql.rewrite.names.inline_session_functions import inline_session_functions
from omnigraph_sql.rewrite.names.name_projections import name_projections
from omnigraph_sql.rewrite.names.number_parameters import number_parameters
from omnigraph_sql.rewrite.names.quote_identifiers import quote_identifiers
from omnigraph_sql.rewrite.names.resolve_tables import resolve_tables
from omnigraph_sql.rewrite.shapes.expand_bag_operations import expand_bag_operations
from omnigraph_sql.rewrite.shapes.expand_pivot import expand_pivot
from omnigraph_sql.rewrite.shapes.normalize_syntax import normalize_syntax
from omnigraph_sql.rewrite.shapes.rewrite_null_safe_joins import rewrite_null_safe_joins
from omnigraph_sql.rewrite.shapes.unnest_columns import unnest_columns
from omnigraph_sql.rewrite.subqueries.decorrelate import decorrelate
from omnigraph_sql.rewrite.subqueries.expand_quantified_predicates import (
    expand_quantified_predicates,
)
from omnigraph_sql.rewrite.types.coerce_types import coerce_types
from omnigraph_sql.rewrite.types.preserve_literals import preserve_literals
from omnigraph_sql.rewrite.types.substitute_id_for_key import substitute_id_for_key
from omnigraph_sql.rewrite.types.type_literals import type_literals
from omnigraph_sql.rewrite.types.widen_integer_arithmetic import widen_integer_arithmetic

PASSES = (
    number_parameters,
    normalize_syntax,
    preserve_literals,
    expand_pivot,
    inline_session_functions,
    bind_table_functions,
    resolve_tables,
    expand_using,
    expand_bag_operations,
    decorrelate,
    unnest_columns,
    expand_quantified_predicates,
    rewrite_null_safe_joins,
    coerce_types,
    widen_integer_arithmetic,
    name_projections,
    type_literals,
    quote_identifiers,
    substitute_id_for_key,
)


def rewrite(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The tree after every pass."""
    for apply in PASSES:
        tree = apply(tree, context)
    return tree
