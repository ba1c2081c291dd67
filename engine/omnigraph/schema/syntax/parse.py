"""Text to tree, or a ParseError that says in words what was expected."""

from __future__ import annotations

from functools import cache

from lark import Lark, Token

from omnigraph.common.grammar import load_parser
from omnigraph.common.lexical import expected_words, parsed, spelled
from omnigraph.errors import did_you_mean
from omnigraph.schema.syntax.lexer import PUNCTUATION, TOP_WORDS, SchemaLexer
from omnigraph.schema.syntax.tree import EdgeTree, InterfaceTree, NodeTree, SchemaTree
from omnigraph.schema.syntax.tree_builder import SchemaTreeBuilder, unknown_type

# How each token is called in "expected …"; the order here is the order they are named in.
_WORDS = {
    **spelled(TOP_WORDS),
    "UPPER": "a type name",
    "LOWER": "a property name",
    "ENUM": "`enum(…)`",
    "ENUM_VALUE": "an enum value",
    "STRING": "a string",
    "MINUS": "a number",
    "FLOAT": "a number",
    "INT": "a whole number",
    "_ARROW": "`->`",
    "DOTDOT": "`..`",
    **spelled(PUNCTUATION, but=("MINUS", "AT")),
    "AT_TUPLE": "a constraint",
    "AT_RANGE": "a constraint",
    "AT_CHECK": "a constraint",
    "AT_CARD": "`@card(…)`",
    "AT": "an annotation",
}
_CONSTRAINTS = {"AT_TUPLE", "AT_RANGE", "AT_CHECK"}


def parse(source: str, file: str | None = None) -> SchemaTree:
    """Parse a `.pg` text; `file` only names it in errors."""
    declarations = parsed(_parser(), source, file, _expected, _special)
    return SchemaTree(
        source,
        file,
        tuple(d for d in declarations if isinstance(d, InterfaceTree)),
        tuple(d for d in declarations if isinstance(d, NodeTree)),
        tuple(d for d in declarations if isinstance(d, EdgeTree)),
    )


@cache
def _parser() -> Lark:
    return load_parser("omnigraph.schema.syntax", SchemaLexer, SchemaTreeBuilder())


def _special(token: Token, accepts: set[str]) -> str | None:
    """Better words for the mistakes people make most."""
    if token.type in _CONSTRAINTS and accepts & {"LOWER", "_LBRACE", "NODE"}:
        if "_RBRACE" in accepts:
            return "an interface holds only properties; write the constraint in the node"
        return "a constraint belongs inside the braces of a node or an edge"
    if token.type == "AT_CARD" and "EDGE" not in accepts:
        return "`@card(…)` stands on an edge, right after its endpoints"
    if token.type == "AT_CARD":
        return "`@card(…)` comes before the annotations of an edge"
    if "EDGE" in accepts and token.type in ("LOWER", "UPPER"):
        suffix = did_you_mean(token.lower(), ("interface", "node", "edge"))
        return f"expected {_expected(accepts)}, found `{token}`{suffix}"
    if "_LSQB" in accepts and token.type == "LOWER":
        return unknown_type(str(token))
    if token.type == "LOWER" and accepts == {"UPPER"}:
        return f"expected a type name, found `{token}`; a type name starts with a capital letter"
    if token.type == "UPPER" and "LOWER" in accepts:
        return (
            f"expected {_expected(accepts)}, found `{token}`; "
            "a property name starts with a small letter"
        )
    if token.type == "MINUS" and "INT" in accepts:
        return "a `-` is only allowed inside the bounds of @range"
    return None


def _expected(accepts: set[str]) -> str:
    return expected_words(_WORDS, accepts)
