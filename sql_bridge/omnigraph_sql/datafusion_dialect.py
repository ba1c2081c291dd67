"""The SQL that the engine underneath reads, as a dialect that sqlglot writes."""

from __future__ import annotations

from sqlglot import exp, generator
from sqlglot.dialects.dialect import Dialect


class DataFusion(Dialect):
    """DataFusion 54's SQL."""

    INDEX_OFFSET = 1
    TYPED_DIVISION = True
    CONCAT_COALESCE = True
    NULL_ORDERING = "nulls_are_large"

    class Generator(generator.Generator):
        pass


def to_engine(tree: exp.Expr) -> str:
    """The text of a rewritten tree for the engine."""
    return tree.sql(dialect=DataFusion)
