"""From the tree of a dialect to one the engine runs: a visible pipeline of small passes.

Each pass is one function in a file of its name; it changes the tree it is given, which is a copy.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.rewriting.all_rows import all_rows
from omnigraph_sql.rewriting.answer_session import answer_session
from omnigraph_sql.rewriting.call_functions import call_functions
from omnigraph_sql.rewriting.decide_memberships import decide_memberships
from omnigraph_sql.rewriting.decorrelate import decorrelate
from omnigraph_sql.rewriting.find_by_key import find_by_key
from omnigraph_sql.rewriting.fit_types import fit_types
from omnigraph_sql.rewriting.join_nulls import join_nulls
from omnigraph_sql.rewriting.join_using import join_using
from omnigraph_sql.rewriting.keep_literals import keep_literals
from omnigraph_sql.rewriting.name_results import name_results
from omnigraph_sql.rewriting.number_parameters import number_parameters
from omnigraph_sql.rewriting.plain_shapes import plain_shapes
from omnigraph_sql.rewriting.resolve_tables import resolve_tables
from omnigraph_sql.rewriting.spell_names import spell_names
from omnigraph_sql.rewriting.turn_tables import turn_tables
from omnigraph_sql.rewriting.type_literals import type_literals
from omnigraph_sql.rewriting.unnest_columns import unnest_columns
from omnigraph_sql.scope import Scope

PASSES = (
    number_parameters,
    plain_shapes,
    keep_literals,
    turn_tables,
    answer_session,
    call_functions,
    resolve_tables,
    join_using,
    all_rows,
    decorrelate,
    unnest_columns,
    decide_memberships,
    join_nulls,
    fit_types,
    name_results,
    type_literals,
    spell_names,
    find_by_key,
)


def rewrite(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """The tree after every pass."""
    for apply in PASSES:
        tree = apply(tree, scope)
    return tree
