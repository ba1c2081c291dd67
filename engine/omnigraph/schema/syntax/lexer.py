"""Bytes to tokens. The one place that knows which words are keywords where.

Works on the UTF-8 bytes, so that every token knows its byte span; yields lazily, so that the
parser reports the first problem of a file and not the first one a lexer would trip over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token

from omnigraph.common.grammar import TokenLexer
from omnigraph.common.lexical import SKIP, no_token, skip

# Possessive throughout: no input can make these backtrack.

_TOKEN = re.compile(
    rb"""
    (?P<STRING>"(?:[^"\\]|\\[\s\S])*+")
  | (?P<LOWER>[a-z_][A-Za-z0-9_]*+)
  | (?P<UPPER>[A-Z][A-Za-z0-9_]*+)
  | (?P<FLOAT>[0-9]++\.[0-9]++)
  | (?P<INT>[0-9]++)
  | (?P<_ARROW>->)
  | (?P<DOTDOT>\.\.)
  | (?P<PUNCTUATION>[{}()\[\],:?=@-])
    """,
    re.VERBOSE,
)
_ENUM_VALUE = re.compile(rb"[A-Za-z0-9_-]++")
_OPENS_PARENTHESIS = re.compile(SKIP + rb"\(")
_CONSTRAINT = re.compile(SKIP + rb"(key|unique|index|range|check)(?![A-Za-z0-9_])" + SKIP + rb"\(")
_CARDINALITY = re.compile(
    SKIP + rb"card(?![A-Za-z0-9_])" + SKIP + rb"\(" + SKIP + rb"[0-9]++" + SKIP + rb"\.\."
)

PUNCTUATION = {
    b"{": "_LBRACE",
    b"}": "_RBRACE",
    b"(": "_LPAR",
    b")": "_RPAR",
    b"[": "_LSQB",
    b"]": "_RSQB",
    b":": "_COLON",
    b"?": "QMARK",
    b"=": "_EQUAL",
    b",": "_COMMA",
    b"-": "MINUS",
    b"@": "AT",
}
_DEPTH = {"_LBRACE": 1, "_LPAR": 1, "_RBRACE": -1, "_RPAR": -1}
TOP_WORDS = {
    b"interface": "INTERFACE",
    b"node": "NODE",
    b"edge": "EDGE",
    b"implements": "IMPLEMENTS",
}
_CONSTRAINT_AT = {b"range": "AT_RANGE", b"check": "AT_CHECK"}


def tokens(data: bytes) -> Iterator[Token]:
    """The tokens of a file, each with its byte span in `start_pos` and `end_pos`."""
    at, depth, in_enum, previous = 0, 0, False, ""
    while True:
        at = skip(data, at)
        if at == len(data):
            return
        if in_enum and (value := _ENUM_VALUE.match(data, at)):
            kind, end = "ENUM_VALUE", value.end()
        else:
            kind, end = _next(data, at)
        if kind == "LOWER":
            kind = _word_kind(data, at, end, depth, previous)
        elif kind == "AT":
            kind = _at_kind(data, end)
        elif kind == "_LPAR" and previous == "ENUM":
            in_enum = True
        elif kind == "_RPAR":
            in_enum = False
        depth += _DEPTH.get(kind, 0)
        yield Token(kind, data[at:end].decode(), start_pos=at, end_pos=end)
        at, previous = end, kind


def _next(data: bytes, at: int) -> tuple[str, int]:
    match = _TOKEN.match(data, at)
    if match is None:
        raise no_token(data, at)
    kind = match.lastgroup or ""
    return PUNCTUATION[match.group()] if kind == "PUNCTUATION" else kind, match.end()


def _word_kind(data: bytes, at: int, end: int, depth: int, previous: str) -> str:
    word = data[at:end]
    if depth == 0 and not previous.startswith("AT"):
        return TOP_WORDS.get(word, "LOWER")
    if word == b"enum" and previous == "_COLON" and _OPENS_PARENTHESIS.match(data, end):
        return "ENUM"
    return "LOWER"


def _at_kind(data: bytes, end: int) -> str:
    if constraint := _CONSTRAINT.match(data, end):
        return _CONSTRAINT_AT.get(constraint.group(1), "AT_TUPLE")
    return "AT_CARD" if _CARDINALITY.match(data, end) else "AT"


class SchemaLexer(TokenLexer):
    """Lark's view of `tokens`."""

    tokens = staticmethod(tokens)
