"""The logical plan of a query: what the executor runs and Spark compiles.

This is the face of the plan; it imports the syntax tree's operators and `omnigraph.schema`.
"""

from omnigraph.query.logical.expression_walk import variables_of
from omnigraph.query.logical.expressions import (
    MIRRORED,
    Aggregate,
    Bm25,
    Compare,
    Condition,
    Contains,
    EntityKind,
    Expr,
    Literal,
    Membership,
    Nearest,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    StartsWith,
    TextMatch,
)
from omnigraph.query.logical.logical_plan import (
    AntiJoin,
    Expand,
    OutputColumn,
    Pattern,
    ReadPlan,
    VariableInfo,
)
from omnigraph.query.syntax.tree import Comparison

__all__ = [
    "Aggregate",
    "AntiJoin",
    "Bm25",
    "Compare",
    "Comparison",
    "Condition",
    "Contains",
    "EntityKind",
    "Expand",
    "Expr",
    "Literal",
    "MIRRORED",
    "Membership",
    "Nearest",
    "NodeRef",
    "Now",
    "OutputColumn",
    "Param",
    "Pattern",
    "PropertyRef",
    "ReadPlan",
    "Rrf",
    "StartsWith",
    "TextMatch",
    "VariableInfo",
    "variables_of",
]
