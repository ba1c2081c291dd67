"""From the tree of a dialect to one that DataFusion runs: a visible pipeline of small passes.

Each pass is one function in a file of its name, with an example in its docstring; it changes the
tree it is given, which is a copy, and tells later passes what it learned by fields of the context.
Imports `resolve` and what lies below it.
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
    # The tree as a statement in any dialect writes it, in one syntax.
    number_parameters,  # first: views and table functions are added later, without parameters
    normalize_syntax,  # so that the passes below know fewer shapes
    preserve_literals,  # before anything reads or copies a literal
    expand_pivot,  # plans queries of the statement itself, while its tables have their names
    # Names.
    inline_session_functions,  # their values may be arguments of table functions
    bind_table_functions,  # gives registered rows, which resolve_tables then leaves alone
    resolve_tables,  # from here on the columns of the sources are known
    expand_using,  # needs these columns; before anything reads ON or `*`
    expand_bag_operations,  # needs them, too; gives windows, which decorrelate must see
    # Subqueries.
    decorrelate,  # before unnest_columns: a lateral UNNEST may be part of a correlated subquery
    unnest_columns,  # while the source of the list still stands beside it
    expand_quantified_predicates,  # of what decorrelate left: predicates that DataFusion correlates
    rewrite_null_safe_joins,  # the three above join by IS NOT DISTINCT FROM
    # Types, of a tree whose shape no longer changes.
    coerce_types,  # before widen_integer_arithmetic: rounding and timestamps change operands
    widen_integer_arithmetic,
    name_projections,  # before type_literals: a cast would be named otherwise than its number
    type_literals,  # after widen_integer_arithmetic, which leaves room for what is a BIGINT
    # Spelling.
    quote_identifiers,  # when all names are there
    substitute_id_for_key,  # compares spellings
)
"""In this order; the reason of a place stands beside it."""


def rewrite(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """The tree after every pass."""
    for apply in PASSES:
        tree = apply(tree, context)
    return tree
