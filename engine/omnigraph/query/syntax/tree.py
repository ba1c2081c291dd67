"""The syntax tree of a `.gq` file: what was written, where, and nothing else.

Every span is a byte range `[start, end)` of the UTF-8 source.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal as OneOf

from omnigraph.common.lexical import NameNode, Span
from omnigraph.errors import QueryTypeError
from omnigraph.schema.model.property_types import Scalar

ScalarValue = str | int | float | bool | date | datetime
TextKind = OneOf["search", "match_text", "fuzzy"]
AggregateFunction = OneOf["count", "sum", "avg", "min", "max"]
Comparison = OneOf[">=", "<=", "!=", ">", "<", "="]
Operator = OneOf[">=", "<=", "!=", ">", "<", "=", "contains", "starts_with"]
TypeForm = OneOf["scalar", "list", "vector"]

ANONYMOUS = "_"


# --------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class LiteralTree:
    """A string, number, truth value, date or time."""

    value: ScalarValue
    scalar: Scalar
    span: Span


@dataclass(frozen=True)
class ListTree:
    """`[literal, …]`."""

    items: tuple[LiteralTree | ListTree, ...]
    span: Span


@dataclass(frozen=True)
class NowTree:
    """`now()`."""

    span: Span


@dataclass(frozen=True)
class VariableTree:
    """`$name`, without the sign."""

    name: str
    span: Span


@dataclass(frozen=True)
class PropertyAccess:
    """`$variable.property`."""

    variable: VariableTree
    property: NameNode
    span: Span


@dataclass(frozen=True)
class IdentTree:
    """A bare word: in an order, an alias."""

    name: str
    span: Span


@dataclass(frozen=True)
class TextTree:
    """`search(field, query)`, `match_text(field, query)` or `fuzzy(field, query[, distance])`."""

    kind: TextKind
    field: ExprTree
    query: ExprTree
    distance: ExprTree | None
    span: Span


@dataclass(frozen=True)
class NearestTree:
    """`nearest($variable.property, query)`."""

    field: PropertyAccess
    query: ExprTree
    span: Span


@dataclass(frozen=True)
class Bm25Tree:
    """`bm25(field, query)`."""

    field: ExprTree
    query: ExprTree
    span: Span


@dataclass(frozen=True)
class RrfTree:
    """`rrf(first, second[, k])`."""

    first: ExprTree
    second: ExprTree
    k: ExprTree | None
    span: Span


@dataclass(frozen=True)
class AggregateTree:
    """`count(argument)` and its siblings."""

    function: AggregateFunction
    argument: ExprTree
    span: Span


ValueTree = LiteralTree | ListTree | VariableTree | NowTree
ExprTree = (
    ValueTree
    | PropertyAccess
    | IdentTree
    | TextTree
    | NearestTree
    | Bm25Tree
    | RrfTree
    | AggregateTree
)


# --------------------------------------------------------------------------- reads


@dataclass(frozen=True)
class PairTree:
    """`property: value`, in the braces of a binding or as an assignment."""

    property: NameNode
    value: ValueTree


@dataclass(frozen=True)
class BindingTree:
    """`$variable: Type { property: value, … }`."""

    variable: VariableTree
    type: NameNode
    pairs: tuple[PairTree, ...]


@dataclass(frozen=True)
class BoundsTree:
    """`{low, high}`; high may have been left out."""

    low: int
    high: int | None
    span: Span


@dataclass(frozen=True)
class TraversalTree:
    """`$left $binding:edge{low,high} $right`, or with `<edge>`."""

    left: VariableTree
    binding: VariableTree | None
    edge: NameNode
    undirected: bool
    bounds: BoundsTree | None
    right: VariableTree


@dataclass(frozen=True)
class FilterTree:
    """`left operator right`."""

    left: ExprTree
    operator: Operator
    right: ExprTree
    span: Span


@dataclass(frozen=True)
class NegationTree:
    """`not { clause … }`."""

    clauses: tuple[ClauseTree, ...]
    span: Span


ClauseTree = NegationTree | BindingTree | TraversalTree | FilterTree | TextTree


@dataclass(frozen=True)
class ItemTree:
    """`expr as alias`."""

    expr: ExprTree
    alias: NameNode | None


@dataclass(frozen=True)
class KeyTree:
    """`expr asc` or `expr desc`; no direction means ascending."""

    expr: ExprTree
    descending: bool


@dataclass(frozen=True)
class ReadTree:
    clauses: tuple[ClauseTree, ...]
    items: tuple[ItemTree, ...]
    keys: tuple[KeyTree, ...]
    limit: int | None


# --------------------------------------------------------------------------- mutations


@dataclass(frozen=True)
class PredicateTree:
    """`where property cmp value`."""

    property: NameNode
    operator: Comparison
    value: ValueTree


@dataclass(frozen=True)
class InsertTree:
    type: NameNode
    sets: tuple[PairTree, ...]
    span: Span


@dataclass(frozen=True)
class UpdateTree:
    type: NameNode
    sets: tuple[PairTree, ...]
    where: PredicateTree
    span: Span


@dataclass(frozen=True)
class DeleteTree:
    type: NameNode
    where: PredicateTree
    span: Span


StatementTree = InsertTree | UpdateTree | DeleteTree


@dataclass(frozen=True)
class MutationTree:
    statements: tuple[StatementTree, ...]


# --------------------------------------------------------------------------- queries


@dataclass(frozen=True)
class TypeTree:
    """The type of a parameter as written; whether it exists is not known here."""

    form: TypeForm
    word: NameNode
    dimension: int | None
    nullable: bool


@dataclass(frozen=True)
class ParamTree:
    name: VariableTree
    type: TypeTree


@dataclass(frozen=True)
class QueryTree:
    name: NameNode
    params: tuple[ParamTree, ...]
    description: str | None
    instruction: str | None
    body: ReadTree | MutationTree


@dataclass(frozen=True)
class QueryFile:
    """A whole file; the source travels along so that later checks can point at it."""

    source: str
    file: str | None
    queries: tuple[QueryTree, ...]

    def error(self, code: str | None, problem: str, span: Span) -> QueryTypeError:
        """The error that points at a place of this file."""
        return QueryTypeError(
            problem, type_code=code, source=self.source, span=span, file=self.file
        )
