"""Typed expressions: what a value is, where it comes from, and its logical type.

The checker makes them out of the tree; plans carry them; an executor evaluates them. A null operand
makes every condition false, `!=` included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from omnigraph.query.syntax.tree import AggregateFunction, Comparison, ScalarValue, TextKind
from omnigraph.schema.model.property_types import PropertyType, Scalar, scalar_type

STRING = scalar_type(Scalar.STRING)
BOOL = scalar_type(Scalar.BOOL)
I64 = scalar_type(Scalar.I64)
F64 = scalar_type(Scalar.F64)
DATETIME = scalar_type(Scalar.DATETIME)

EntityKind = OneOf["node", "edge"]

MIRRORED: dict[Comparison, Comparison] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""What each operator is when its operands change places."""

DEFAULT_FUZZY_DISTANCE = 2
DEFAULT_RRF_K = 60


# --------------------------------------------------------------------------- values


@dataclass(frozen=True)
class Literal:
    """A constant. Numbers are I64 or F64 whatever they meet; a list or vector is a tuple."""

    value: ScalarValue | tuple[ScalarValue, ...]
    type: PropertyType


@dataclass(frozen=True)
class Param:
    """The value of a parameter, as `coerce_params` returns it under that name."""

    name: str
    type: PropertyType


@dataclass(frozen=True)
class Now:
    """The instant of the execution."""

    type: PropertyType = DATETIME


@dataclass(frozen=True)
class PropertyRef:
    """`$variable.property` of a node or of a bound edge."""

    variable: str
    property: str
    type: PropertyType


@dataclass(frozen=True)
class NodeRef:
    """`$variable` of a node: its id."""

    variable: str
    type_name: str
    type: PropertyType = STRING


ValueExpr = Literal | Param | Now


# --------------------------------------------------------------------------- search


@dataclass(frozen=True)
class TextMatch:
    """Whether the analysed field holds any analysed term of the query.

    Only `fuzzy` has a distance, and it always has one.
    """

    kind: TextKind
    field: PropertyRef
    query: Expr
    distance: Expr | None = None
    type: PropertyType = BOOL


@dataclass(frozen=True)
class Nearest:
    """The L2 distance of a vector property, null where it is; text is embedded at run time."""

    field: PropertyRef
    query: Expr
    type: PropertyType = F64


@dataclass(frozen=True)
class Bm25:
    """The BM25 score of a text property."""

    field: PropertyRef
    query: Expr
    type: PropertyType = F64


@dataclass(frozen=True)
class Rrf:
    """The fused score of two rankings of the same variable."""

    first: Nearest | Bm25
    second: Nearest | Bm25
    k: Literal | Param
    type: PropertyType = F64


Ranking = Nearest | Bm25 | Rrf


def ranked_variable(ranking: Ranking) -> str:
    """The variable whose entities a ranking call orders."""
    arm = ranking.first if isinstance(ranking, Rrf) else ranking
    return arm.field.variable


# --------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Compare:
    """`left operator right`: numbers by value across widths, texts by bytes."""

    operator: Comparison
    left: Expr
    right: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True)
class Contains:
    """The exact text `part` occurs in `text`."""

    text: Expr
    part: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True)
class StartsWith:
    """`text` begins with exactly `prefix`."""

    text: Expr
    prefix: Expr
    type: PropertyType = BOOL


@dataclass(frozen=True)
class Membership:
    """`item` is an element of `list`; false for a null or empty list."""

    list: Expr
    item: Expr
    type: PropertyType = BOOL


Condition = Compare | Contains | StartsWith | Membership | TextMatch


# --------------------------------------------------------------------------- aggregates


@dataclass(frozen=True)
class Aggregate:
    """A function over the rows of a group; nulls are skipped, `count` of a node counts rows."""

    function: AggregateFunction
    argument: Expr
    type: PropertyType


Expr = ValueExpr | PropertyRef | NodeRef | TextMatch | Ranking | Aggregate
