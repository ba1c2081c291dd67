"""Whether the parts of a rewritten query have yet to be unified to the type of a column."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.resolve.type_inference import TypeInference

_UNIFIED = (exp.Case, exp.If, exp.SetOperation, exp.DecodeCase, exp.StrPosition)
"""What DataFusion's SQL spells as a CASE or as a UNION and its like."""


def needs_unification(tree: exp.Expr, context: RewriteContext) -> bool:
    """Whether a result may have another type than its first part; not where all have the same."""
    types = TypeInference(context)
    return any(
        not _is_unified(node, types)
        for node in find_all(tree, *_UNIFIED)
        if node.find_ancestor(exp.Where, exp.Having) is None
    )


def _is_unified(node: exp.Expr, types: TypeInference) -> bool:
    match node:
        case exp.StrPosition():
            return node.args.get("position") is None
        case exp.If() if isinstance(node.parent, exp.Case):
            return True  # a branch of its CASE
        case exp.If():
            values = [node.args.get("true"), node.args.get("false")]
        case exp.Case():
            values = [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
        case _:
            return False
    first, *others = (types.of(value) for value in values if value is not None)
    # A null is of any type, but as the first part it would give its own.
    return first not in (None, pa.null()) and set(others) <= {first, pa.null()}
