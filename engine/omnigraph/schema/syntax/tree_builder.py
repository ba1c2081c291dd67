"""Grammar rules to the typed tree, while the parser runs.

Each method is named after its rule in `grammar.lark` and gets what the rule's parts became. What a
grammar cannot say but one declaration alone decides (escapes, repeated enum values, dimensions)
is checked here.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from lark import Token, Transformer

from omnigraph.common.lexical import SourceProblem, Span, string_value
from omnigraph.errors import did_you_mean
from omnigraph.schema.model.property_types import (
    MAX_DIMENSION,
    PropertyType,
    Scalar,
    enum_type,
    list_type,
    scalar_type,
    vector_type,
)
from omnigraph.schema.syntax.tree import (
    AnnotationTree,
    CardinalityTree,
    CheckConstraint,
    EdgeTree,
    InterfaceTree,
    LiteralNode,
    NameNode,
    NodeTree,
    PropertyDeclaration,
    RangeConstraint,
    SchemaTree,
    TupleConstraint,
)

# Past this a number is no number anybody means, and Python refuses to read it.
_MAX_DIGITS = 1000


# What people write who come from another language.
_ALIASES = {
    "text": "String",
    "str": "String",
    "varchar": "String",
    "int": "I64",
    "integer": "I64",
    "long": "I64",
    "float": "F64",
    "double": "F64",
    "boolean": "Bool",
    "timestamp": "DateTime",
    "bytes": "Blob",
    "binary": "Blob",
}
_Parts = list[Any]
_Tokens = list[Token]

_SCALARS = tuple(str(scalar) for scalar in Scalar)


def unknown_type(word: str) -> str:
    """The message for a word that is no type."""
    by_case = {name.lower(): name for name in (*_SCALARS, "Vector")}
    guess = by_case.get(word.lower()) or _ALIASES.get(word.lower())
    suffix = f" (did you mean {guess!r}?)" if guess else did_you_mean(word, (*_SCALARS, "Vector"))
    return f"unknown type {word!r}{suffix}"


class SchemaTreeBuilder(Transformer[Token, SchemaTree]):
    """Holds no state, so one parser serves every file and thread."""

    def start(self, parts: _Parts) -> tuple[Any, ...]:
        return tuple(parts)

    # ------------------------------------------------------------------ declarations

    def interface(self, parts: _Parts) -> InterfaceTree:
        return InterfaceTree(_name(parts[1]), tuple(parts[2:]))

    def node(self, parts: _Parts) -> NodeTree:
        _, name, annotations, implements, members = parts
        return NodeTree(_name(name), annotations, implements, *members)

    def edge(self, parts: _Parts) -> EdgeTree:
        _, name, src, dst, cardinality, annotations, members = parts
        return EdgeTree(
            _name(name), _name(src), _name(dst), cardinality, annotations, *(members or ((), ()))
        )

    def implements(self, parts: _Tokens) -> tuple[NameNode, ...]:
        return tuple(_name(token) for token in parts[1:])

    def members(self, parts: _Parts) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        properties = tuple(part for part in parts if isinstance(part, PropertyDeclaration))
        return properties, tuple(
            part for part in parts if not isinstance(part, PropertyDeclaration)
        )

    def property(self, parts: _Parts) -> PropertyDeclaration:
        name, (type_, span), annotations = parts
        return PropertyDeclaration(_name(name), type_, span, annotations)

    # ------------------------------------------------------------------ types

    def type(self, parts: _Parts) -> tuple[PropertyType, Span]:
        type_, (start, end) = parts[0]
        if len(parts) == 1:
            return type_, (start, end)
        return type_.with_nullable(True), (start, parts[1].end_pos)

    def scalar(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        return scalar_type(_scalar(parts[0])), _span(parts[0])

    def list_of(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        element = _scalar(parts[0])
        if element is Scalar.BLOB:
            raise SourceProblem("a list cannot hold Blob values", _span(parts[0]))
        return list_type(element), _span(parts[0])

    def vector(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        name, size = parts
        if name != "Vector":
            if name in _SCALARS:
                raise SourceProblem(f"`{name}` takes no argument; only Vector does", _span(size))
            raise SourceProblem(unknown_type(str(name)), _span(name))
        dimension = _int(size)
        if not 1 <= dimension <= MAX_DIMENSION:
            raise SourceProblem(
                f"a Vector has between 1 and {MAX_DIMENSION} dimensions", _span(size)
            )
        return vector_type(dimension), (name.start_pos or 0, size.end_pos or 0)

    def enum(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        seen: set[str] = set()
        for value in parts[1:]:
            if value in seen:
                raise SourceProblem(f"enum value `{value}` is listed twice", _span(value))
            seen.add(str(value))
        return enum_type(*seen), (parts[0].start_pos or 0, parts[-1].end_pos or 0)

    # ------------------------------------------------------------------ constraints

    def cardinality(self, parts: _Parts) -> CardinalityTree:
        at, _, low, dots, high = parts
        span = (at.start_pos, (high or dots).end_pos)
        return CardinalityTree(_int(low), None if high is None else _int(high), span)

    def tuple_constraint(self, parts: _Tokens) -> TupleConstraint:
        at, kind, *members = parts
        span = (at.start_pos or 0, kind.end_pos or 0)
        return TupleConstraint(str(kind), tuple(_name(m) for m in members), span)  # type: ignore[arg-type]

    def range_constraint(self, parts: _Parts) -> RangeConstraint:
        at, kind, member, (low, high) = parts
        return RangeConstraint(_name(member), low, high, (at.start_pos, kind.end_pos))

    def check_constraint(self, parts: _Tokens) -> CheckConstraint:
        at, kind, member, pattern = parts
        return CheckConstraint(
            _name(member),
            LiteralNode(string_value(pattern), _span(pattern)),
            (at.start_pos or 0, kind.end_pos or 0),
        )

    def bounds(self, parts: _Parts) -> tuple[int | float | None, int | float | None]:
        if isinstance(parts[0], Token):
            return None, parts[1]
        return parts[0], parts[2]

    def number(self, parts: _Tokens) -> int | float:
        value = _number(parts[-1])
        return -value if len(parts) == 2 else value

    # ------------------------------------------------------------------ annotations

    def annotations(self, parts: list[AnnotationTree]) -> tuple[AnnotationTree, ...]:
        return tuple(parts)

    def annotation(self, parts: _Parts) -> AnnotationTree:
        at, name, argument, *keywords = parts
        span = (at.start_pos, name.end_pos)
        return AnnotationTree(_name(name), argument, tuple(keywords), span)

    def keyword(self, parts: _Parts) -> tuple[NameNode, LiteralNode]:
        name, value = parts
        if isinstance(value, NameNode):
            raise SourceProblem(
                f"expected a string, a number, true or false, found `{value.text}`", value.span
            )
        return _name(name), value

    def word(self, parts: _Tokens) -> NameNode | LiteralNode:
        word = parts[0]
        if word in ("true", "false"):
            return LiteralNode(word == "true", _span(word))
        return _name(word)

    def literal(self, parts: _Tokens) -> LiteralNode:
        token = parts[0]
        value = string_value(token) if token.type == "STRING" else _number(token)
        return LiteralNode(value, _span(token))


def _span(token: Token) -> Span:
    return (token.start_pos or 0, token.end_pos or 0)


def _name(token: Token) -> NameNode:
    return NameNode(str(token), _span(token))


def _scalar(token: Token) -> Scalar:
    if token == "Vector":
        raise SourceProblem("a Vector needs its dimension, as in `Vector(384)`", _span(token))
    try:
        return Scalar(str(token))
    except ValueError:
        raise SourceProblem(unknown_type(str(token)), _span(token)) from None


def _int(token: Token) -> int:
    if len(token) > _MAX_DIGITS:
        raise SourceProblem(f"a number has at most {_MAX_DIGITS} digits", _span(token))
    return int(token)


def _number(token: Token) -> int | float:
    if token.type == "INT":
        return _int(token)
    value = float(token)
    if not isfinite(value):
        raise SourceProblem("this number is too large for a 64-bit float", _span(token))
    return value
