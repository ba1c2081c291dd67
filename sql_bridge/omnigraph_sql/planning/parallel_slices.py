"""Results that can be read in parallel: each row comes from one row of one table."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.tables import ReadableTable
from omnigraph_sql.frontend.tree_search import find_all

_NOT_ROW_BY_ROW = ("group", "having", "order", "limit", "offset", "distinct", "joins", "laterals",
          "qualify", "windows", "with_", "connect", "sample")  # fmt: skip
"""Clauses that need more than one row, or more than one table."""


def is_sliceable(tree: exp.Expr) -> bool:
    """Whether parts of a table give parts of the query's result."""
    if not isinstance(tree, exp.Select) or any(tree.args.get(clause) for clause in _NOT_ROW_BY_ROW):
        return False
    from_ = tree.args.get("from_")
    if from_ is None or len(list(find_all(tree, exp.Table))) != 1:
        return False
    if not isinstance(from_.this, exp.Table | exp.Subquery):
        return False
    many = (exp.AggFunc, exp.Window, exp.Explode, exp.Unnest, exp.SetOperation)
    selects = len(list(find_all(tree, exp.Select)))
    inner = from_.this.find(exp.Select) if isinstance(from_.this, exp.Subquery) else None
    if selects != 1 + (inner is not None):
        return False
    if inner is not None and not is_sliceable(inner):
        return False
    return tree.find(*many) is None


def part_of(table: ReadableTable, index: int, of: int) -> slice:
    """The fragments of one slice; every fragment is in exactly one."""
    count = table.fragments()
    return slice(count * index // of, count * (index + 1) // of)
