"""Grammar rules to the typed tree, while the parser runs.

Each method is named after its rule in `grammar.lark` and gets what the rule's parts became. What a
grammar cannot say but one literal or header alone decides (escapes, ranges, repeated notes) is
checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from lark import Token, Transformer

from omnigraph.common.lexical import (
    NameNode,
    SourceProblem,
    Span,
    float_value,
    integer_value,
    name_of,
    span_of,
    string_value,
)
from omnigraph.query.syntax.temporal_literals import parse_date, parse_datetime
from omnigraph.query.syntax.tree import (
    AggregateTree,
    BindingTree,
    Bm25Tree,
    BoundsTree,
    DeleteTree,
    ExprTree,
    FilterTree,
    IdentTree,
    InsertTree,
    ItemTree,
    KeyTree,
    ListTree,
    LiteralTree,
    MutationTree,
    NearestTree,
    NegationTree,
    NowTree,
    PairTree,
    ParamTree,
    PredicateTree,
    PropertyAccess,
    QueryTree,
    ReadTree,
    RrfTree,
    TextTree,
    TraversalTree,
    TypeForm,
    TypeTree,
    UpdateTree,
    VariableTree,
)
from omnigraph.schema.model.property_types import Scalar

_MAX_INTEGER = 2**63 - 1

_NOTES = ("description", "instruction")

_Parts = list[Any]
_Tokens = list[Token]


class QueryTreeBuilder(Transformer[Token, Any]):
    """Holds no state, so one parser serves every file and thread."""

    def start(self, parts: _Parts) -> tuple[Any, ...]:
        return tuple(parts)

    params = clauses = pairs = items = sets = start

    # ------------------------------------------------------------------ headers

    def query(self, parts: _Parts) -> QueryTree:
        _, name, params, notes, body = parts
        return QueryTree(
            name_of(name), params, notes.get("description"), notes.get("instruction"), body
        )

    def param(self, parts: _Parts) -> ParamTree:
        return ParamTree(_variable(parts[0]), parts[1])

    def type(self, parts: _Parts) -> TypeTree:
        form, word, dimension = parts[0]
        return TypeTree(form, word, dimension, nullable=len(parts) == 2)

    def word(self, parts: _Tokens) -> NameNode:
        return name_of(parts[0])

    def scalar(self, parts: list[NameNode]) -> tuple[TypeForm, NameNode, int | None]:
        return "scalar", parts[0], None

    def list_of(self, parts: _Parts) -> tuple[TypeForm, NameNode, int | None]:
        return "list", parts[1], None

    def vector(self, parts: _Parts) -> tuple[TypeForm, NameNode, int | None]:
        return "vector", parts[0], _count(parts[1])

    def notes(self, parts: list[tuple[NameNode, str]]) -> dict[str, str]:
        notes: dict[str, str] = {}
        for name, text in parts:
            if name.text in notes:
                raise SourceProblem(f"`@{name.text}` is given twice", name.span)
            notes[name.text] = text
        return notes

    def note(self, parts: _Tokens) -> tuple[NameNode, str]:
        _, word, text = parts
        if word not in _NOTES:
            raise SourceProblem(
                f"a query takes `@description` and `@instruction`, not `@{word}`", span_of(word)
            )
        return name_of(word), string_value(text)

    # ------------------------------------------------------------------ reads

    def read(self, parts: _Parts) -> ReadTree:
        _, clauses, _, items, keys, limit = parts
        return ReadTree(clauses, items, keys or (), limit)

    def negation(self, parts: _Parts) -> NegationTree:
        return NegationTree(parts[1], span_of(parts[0]))

    def binding(self, parts: _Parts) -> BindingTree:
        variable, type_, pairs = parts
        return BindingTree(_variable(variable), name_of(type_), pairs or ())

    def pair(self, parts: _Parts) -> PairTree:
        return PairTree(name_of(parts[0]), parts[1])

    set = pair

    def traversal(self, parts: _Parts) -> TraversalTree:
        left, binding, (edge, undirected), bounds, right = parts
        named = None if binding is None else _variable(binding)
        return TraversalTree(_variable(left), named, edge, undirected, bounds, _variable(right))

    def directed(self, parts: _Tokens) -> tuple[NameNode, bool]:
        return name_of(parts[0]), False

    def undirected(self, parts: _Tokens) -> tuple[NameNode, bool]:
        return name_of(parts[1]), True

    def bounds(self, parts: _Parts) -> BoundsTree:
        low, high = parts
        return BoundsTree(_count(low), None if high is None else _count(high), span_of(low, high))

    def filter(self, parts: _Parts) -> FilterTree:
        left, operator, right = parts
        return FilterTree(left, str(operator), right, _join(left.span, right.span))  # type: ignore[arg-type]

    def item(self, parts: _Parts) -> ItemTree:
        expr, _, alias = parts
        return ItemTree(expr, None if alias is None else name_of(alias))

    def order(self, parts: _Parts) -> tuple[KeyTree, ...]:
        return tuple(parts[1:])

    def key(self, parts: _Parts) -> KeyTree:
        expr, direction = parts
        if isinstance(expr, NearestTree) and direction is not None:
            raise SourceProblem(
                f"`nearest` always puts the nearest first; remove `{direction}`", span_of(direction)
            )
        return KeyTree(expr, descending=direction == "desc")

    def limit(self, parts: _Tokens) -> int:
        return _count(parts[1])

    # ------------------------------------------------------------------ expressions

    def now(self, parts: _Tokens) -> NowTree:
        return NowTree(span_of(parts[0]))

    def text(self, parts: _Parts) -> TextTree:
        kind, field, query, *rest = parts
        distance = rest[0] if rest else None
        span = _call_span(kind, distance or query)
        return TextTree(str(kind), field, query, distance, span)  # type: ignore[arg-type]

    def nearest(self, parts: _Parts) -> NearestTree:
        call, variable, name, query = parts
        return NearestTree(self.property([variable, name]), query, _call_span(call, query))

    def bm25(self, parts: _Parts) -> Bm25Tree:
        call, field, query = parts
        return Bm25Tree(field, query, _call_span(call, query))

    def rrf(self, parts: _Parts) -> RrfTree:
        call, first, second, k = parts
        return RrfTree(first, second, k, _call_span(call, k or second))

    def aggregate(self, parts: _Parts) -> AggregateTree:
        function, argument = parts
        return AggregateTree(str(function), argument, _call_span(function, argument))  # type: ignore[arg-type]

    def property(self, parts: _Tokens) -> PropertyAccess:
        variable, name = parts
        return PropertyAccess(_variable(variable), name_of(name), span_of(variable, name))

    def variable(self, parts: _Tokens) -> VariableTree:
        return _variable(parts[0])

    def ident(self, parts: _Tokens) -> IdentTree:
        return IdentTree(str(parts[0]), span_of(parts[0]))

    # ------------------------------------------------------------------ literals

    def string(self, parts: _Tokens) -> LiteralTree:
        return LiteralTree(string_value(parts[0]), Scalar.STRING, span_of(parts[0]))

    def float(self, parts: _Tokens) -> LiteralTree:
        return LiteralTree(float_value(parts[0]), Scalar.F64, span_of(parts[0]))

    def integer(self, parts: _Tokens) -> LiteralTree:
        return LiteralTree(_integer(parts[0]), Scalar.I64, span_of(parts[0]))

    def boolean(self, parts: _Tokens) -> LiteralTree:
        return LiteralTree(parts[0] == "true", Scalar.BOOL, span_of(parts[0]))

    def array(self, parts: _Parts) -> ListTree:
        opening, *items, closing = parts
        return ListTree(tuple(items), (opening.start_pos, closing.end_pos))

    def date(self, parts: _Tokens) -> LiteralTree:
        return _moment(parts, parse_date, Scalar.DATE)

    def datetime(self, parts: _Tokens) -> LiteralTree:
        return _moment(parts, parse_datetime, Scalar.DATETIME)

    # ------------------------------------------------------------------ mutations

    def mutation(self, parts: _Parts) -> MutationTree:
        return MutationTree(tuple(parts))

    def insert(self, parts: _Parts) -> InsertTree:
        word, type_, sets = parts
        return InsertTree(name_of(type_), sets, span_of(word, type_))

    def update(self, parts: _Parts) -> UpdateTree:
        word, type_, _, sets, _, where = parts
        return UpdateTree(name_of(type_), sets, where, span_of(word, type_))

    def delete(self, parts: _Parts) -> DeleteTree:
        word, type_, _, where = parts
        return DeleteTree(name_of(type_), where, span_of(word, type_))

    def predicate(self, parts: _Parts) -> PredicateTree:
        name, operator, value = parts
        return PredicateTree(name_of(name), str(operator), value)  # type: ignore[arg-type]


def _join(first: Span, last: Span) -> Span:
    return (first[0], last[1])


def _call_span(name: Token, last: ExprTree) -> Span:
    return _join(span_of(name), last.span)


def _variable(token: Token) -> VariableTree:
    return VariableTree(str(token)[1:], span_of(token))


def _integer(token: Token) -> int:
    value = integer_value(token)
    if not -_MAX_INTEGER - 1 <= value <= _MAX_INTEGER:
        raise SourceProblem("this number does not fit a 64-bit integer", span_of(token))
    return value


def _count(token: Token) -> int:
    value = _integer(token)
    if token.startswith("-"):
        raise SourceProblem("expected a whole number without a sign", span_of(token))
    return value


def _moment(parts: _Tokens, parse: Callable[[str], date], scalar: Scalar) -> LiteralTree:
    try:
        return LiteralTree(parse(string_value(parts[1])), scalar, span_of(parts[0], parts[-1]))
    except ValueError as error:
        raise SourceProblem(str(error), span_of(parts[1])) from None
