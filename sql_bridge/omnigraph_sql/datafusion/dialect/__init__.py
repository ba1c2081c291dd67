"""The SQL that the engine underneath reads, as a dialect that sqlglot writes.

What DataFusion calls otherwise, or lacks, is a table of small functions per subject: dates, texts,
aggregates, arrays, and what concerns types.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.datafusion.dialect.datafusion_dialect import DataFusion

__all__ = ["to_datafusion_sql"]


def to_datafusion_sql(tree: exp.Expr) -> str:
    """The text of a rewritten tree for the engine."""
    return tree.sql(dialect=DataFusion)
