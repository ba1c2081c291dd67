"""DataFusion's SQL as a dialect that sqlglot writes, in its interpreted and its compiled build.

What DataFusion calls otherwise, or lacks, is a table of small functions per subject: dates, texts,
aggregates, arrays, JSON, operators. Imports only sqlglot and `frontend`.
"""

from __future__ import annotations

from sqlglot import exp

from omnigraph_sql.datafusion.dialect.datafusion_dialect import DataFusion

__all__ = ["to_datafusion_sql"]


def to_datafusion_sql(tree: exp.Expr) -> str:
    """The text of a rewritten tree for DataFusion."""
    return tree.sql(dialect=DataFusion)
