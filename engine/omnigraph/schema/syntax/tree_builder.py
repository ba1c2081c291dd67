"""Grammar rules to the typed tree, while the parser runs.

Each method is named after its rule in `grammar.lark` and gets what the rule's parts became. What a
grammar cannot say but one declaration alone decides (escapes, repeated enum values, dimensions)
is checked here.
"""

from __future__ import annotations

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
    NodeTree,
    PropertyDeclaration,
    RangeConstraint,
    SchemaTree,
    TupleConstraint,
)

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

    annotations = start

    # ------------------------------------------------------------------ declarations

    def interface(self, parts: _Parts) -> InterfaceTree:
        return InterfaceTree(name_of(parts[1]), tuple(parts[2:]))

    def node(self, parts: _Parts) -> NodeTree:
        _, name, annotations, implements, members = parts
        return NodeTree(name_of(name), annotations, implements, *members)

    def edge(self, parts: _Parts) -> EdgeTree:
        _, name, src, dst, cardinality, annotations, members = parts
        ends = name_of(src), name_of(dst)
        return EdgeTree(name_of(name), *ends, cardinality, annotations, *(members or ((), ())))

    def implements(self, parts: _Tokens) -> tuple[NameNode, ...]:
        return tuple(name_of(token) for token in parts[1:])

    def members(self, parts: _Parts) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        properties = tuple(part for part in parts if isinstance(part, PropertyDeclaration))
        return properties, tuple(
            part for part in parts if not isinstance(part, PropertyDeclaration)
        )

    def property(self, parts: _Parts) -> PropertyDeclaration:
        name, (type_, span), annotations = parts
        return PropertyDeclaration(name_of(name), type_, span, annotations)

    # ------------------------------------------------------------------ types

    def type(self, parts: _Parts) -> tuple[PropertyType, Span]:
        type_, (start, end) = parts[0]
        if len(parts) == 1:
            return type_, (start, end)
        return type_.with_nullable(True), (start, parts[1].end_pos)

    def scalar(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        return scalar_type(_scalar(parts[0])), span_of(parts[0])

    def list_of(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        element = _scalar(parts[0])
        if element is Scalar.BLOB:
            raise SourceProblem("a list cannot hold Blob values", span_of(parts[0]))
        return list_type(element), span_of(parts[0])

    def vector(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        name, size = parts
        if name != "Vector":
            if name in _SCALARS:
                raise SourceProblem(f"`{name}` takes no argument; only Vector does", span_of(size))
            raise SourceProblem(unknown_type(str(name)), span_of(name))
        dimension = integer_value(size)
        if not 1 <= dimension <= MAX_DIMENSION:
            raise SourceProblem(
                f"a Vector has between 1 and {MAX_DIMENSION} dimensions", span_of(size)
            )
        return vector_type(dimension), span_of(name, size)

    def enum(self, parts: _Tokens) -> tuple[PropertyType, Span]:
        seen: set[str] = set()
        for value in parts[1:]:
            if value in seen:
                raise SourceProblem(f"enum value `{value}` is listed twice", span_of(value))
            seen.add(str(value))
        return enum_type(*seen), span_of(parts[0], parts[-1])

    # ------------------------------------------------------------------ constraints

    def cardinality(self, parts: _Parts) -> CardinalityTree:
        at, _, low, dots, high = parts
        most = None if high is None else integer_value(high)
        return CardinalityTree(integer_value(low), most, span_of(at, high or dots))

    def tuple_constraint(self, parts: _Tokens) -> TupleConstraint:
        at, kind, *members = parts
        span = span_of(at, kind)
        return TupleConstraint(str(kind), tuple(name_of(m) for m in members), span)  # type: ignore[arg-type]

    def range_constraint(self, parts: _Parts) -> RangeConstraint:
        at, kind, member, (low, high) = parts
        return RangeConstraint(name_of(member), low, high, span_of(at, kind))

    def check_constraint(self, parts: _Tokens) -> CheckConstraint:
        at, kind, member, pattern = parts
        return CheckConstraint(name_of(member), self.literal([pattern]), span_of(at, kind))

    def bounds(self, parts: _Parts) -> tuple[int | float | None, int | float | None]:
        if isinstance(parts[0], Token):
            return None, parts[1]
        return parts[0], parts[2]

    def number(self, parts: _Tokens) -> int | float:
        value = _number(parts[-1])
        return -value if len(parts) == 2 else value

    # ------------------------------------------------------------------ annotations

    def annotation(self, parts: _Parts) -> AnnotationTree:
        at, name, argument, *keywords = parts
        return AnnotationTree(name_of(name), argument, tuple(keywords), span_of(at, name))

    def keyword(self, parts: _Parts) -> tuple[NameNode, LiteralNode]:
        name, value = parts
        if isinstance(value, NameNode):
            raise SourceProblem(
                f"expected a string, a number, true or false, found `{value.text}`", value.span
            )
        return name_of(name), value

    def word(self, parts: _Tokens) -> NameNode | LiteralNode:
        word = parts[0]
        if word in ("true", "false"):
            return LiteralNode(word == "true", span_of(word))
        return name_of(word)

    def literal(self, parts: _Tokens) -> LiteralNode:
        token = parts[0]
        value = string_value(token) if token.type == "STRING" else _number(token)
        return LiteralNode(value, span_of(token))


def _scalar(token: Token) -> Scalar:
    if token == "Vector":
        raise SourceProblem("a Vector needs its dimension, as in `Vector(384)`", span_of(token))
    try:
        return Scalar(str(token))
    except ValueError:
        raise SourceProblem(unknown_type(str(token)), span_of(token)) from None


def _number(token: Token) -> int | float:
    return integer_value(token) if token.type == "INT" else float_value(token)
