"""Bytes to tokens. The one place that knows which words are keywords where.

No word of the language is reserved, so a word is classified by the braces it stands in and by its
neighbours; the grammar then needs one token of lookahead. Works on the UTF-8 bytes, so that every
token knows its byte span; yields lazily, so that the parser reports the first problem of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark import Token

from omnigraph.common.grammar import TokenLexer
from omnigraph.common.lexical import SKIP, SourceProblem, no_token, skip

# Deeper than anyone writes, and far from what could exhaust the stack of a later pass.
MAX_NESTING = 64

# Possessive throughout: no input can make these backtrack.

_TOKEN = re.compile(
    rb"""
    (?P<STRING>"(?:[^"\\]|\\[\s\S])*+")
  | (?P<VAR>\$[a-z_][A-Za-z0-9_]*+)
  | (?P<LOWER>[a-z_][A-Za-z0-9_]*+)
  | (?P<UPPER>[A-Z][A-Za-z0-9_]*+)
  | (?P<FLOAT>-?[0-9]++\.[0-9]++)
  | (?P<INT>-?[0-9]++)
  | (?P<CMP>>=|<=|!=|>|<|=)
  | (?P<PUNCTUATION>[{}()\[\],:?.@])
    """,
    re.VERBOSE,
)
_OPENS_PARENTHESIS = re.compile(SKIP + rb"\(")
_COLON_FOLLOWS = re.compile(SKIP + rb":")
_EXPONENT = re.compile(rb"[eE][+-]?[0-9]")
# `{m,n} $b` or `$b`, where `$b` is no property access: what follows the edge of a traversal.
_EDGE_FOLLOWS = re.compile(
    rb"~(?:\{~-?[0-9]++~,~(?:-?[0-9]++~)?+\}~)?+\$[a-z_][A-Za-z0-9_]*+(?!~\.)".replace(b"~", SKIP)
)
_IN_ANGLES = re.compile(SKIP + rb"(?!not(?![A-Za-z0-9_]))[a-z_][A-Za-z0-9_]*+" + SKIP + rb">")

PUNCTUATION = {
    b"{": "_LBRACE",
    b"}": "_RBRACE",
    b"(": "_LPAR",
    b")": "_RPAR",
    b"[": "LSQB",
    b"]": "RSQB",
    b":": "_COLON",
    b".": "_DOT",
    b",": "_COMMA",
    b"?": "QMARK",
    b"@": "AT",
}
BODY_WORDS = {
    b"match": "MATCH",
    b"return": "RETURN",
    b"order": "ORDER",
    b"limit": "LIMIT",
    b"insert": "INSERT",
    b"update": "UPDATE",
    b"delete": "DELETE",
    b"set": "SET",
    b"where": "WHERE",
}
_CALLS = {
    b"now": "NOW",
    b"date": "DATE",
    b"datetime": "DATETIME",
    b"search": "SEARCH",
    b"match_text": "SEARCH",
    b"fuzzy": "FUZZY",
    b"nearest": "NEAREST",
    b"bm25": "BM25",
    b"rrf": "RRF",
    b"count": "AGGREGATE",
    b"sum": "AGGREGATE",
    b"avg": "AGGREGATE",
    b"min": "AGGREGATE",
    b"max": "AGGREGATE",
}
TEXT_OPERATORS = {b"contains": "CONTAINS", b"starts_with": "STARTS_WITH"}
_ENDS_EXPRESSION = {"VAR", "LOWER", "STRING", "INT", "FLOAT", "BOOL", "_RPAR", "RSQB"}
_BEFORE_EXPRESSION = {"_LBRACE", "_COMMA", "_LPAR"}
_OPENERS = {"_LBRACE", "_LPAR", "LSQB"}
_CLOSERS = {"_RBRACE", "_RPAR", "RSQB"}
# What a brace holds after each keyword of a body.
_BLOCKS = {
    "MATCH": "match",
    "RETURN": "return",
    "ORDER": "order",
    "INSERT": "pairs",
    "SET": "pairs",
}


class _Words:
    """Where in a file the lexer stands: enough to tell a keyword from a name."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.previous = ""
        self.keyword = ""  # the last keyword of the body
        self.blocks: list[str] = []  # what each open brace holds
        self.nesting = 0
        self.in_angles = False

    @property
    def block(self) -> str:
        return self.blocks[-1] if self.blocks else "file"

    def kind_of(self, kind: str, at: int, end: int) -> str:
        """The terminal of the grammar that a raw token is at this place."""
        if kind == "LOWER":
            return self._word(self.data[at:end], end)
        if kind == "CMP":
            return self._angle(self.data[at:end], end)
        return kind

    def advance(self, kind: str, span: tuple[int, int]) -> None:
        if kind in _OPENERS:
            self.nesting += 1
            if self.nesting > MAX_NESTING:
                raise SourceProblem(f"this nests deeper than {MAX_NESTING} levels", span)
        elif kind in _CLOSERS:
            self.nesting -= 1
        if kind == "_LBRACE":
            self.blocks.append(self._opened())
        elif kind == "_RBRACE" and self.blocks:
            self.blocks.pop()
        elif self.block == "body" and kind in BODY_WORDS.values():
            self.keyword = kind
        self.previous = kind

    def _opened(self) -> str:
        if not self.blocks:
            return "body"
        if self.block == "body":
            return _BLOCKS.get(self.keyword, "other")
        if self.block == "match" and self.previous == "NOT":
            return "match"
        if self.block == "match" and self.previous == "UPPER":
            return "pairs"
        return "other"

    def _word(self, word: bytes, end: int) -> str:
        if self.previous == "_DOT":
            return "LOWER"
        match self.block:
            case "file":
                opens_query = word == b"query" and self.previous in ("", "_RBRACE")
                return "QUERY" if opens_query else "LOWER"
            case "body":
                return self._body_word(word, end)
            case "pairs":
                name = self.previous != "_COLON" and _COLON_FOLLOWS.match(self.data, end)
                return "LOWER" if name else self._value_word(word, end)
            case "match":
                return self._match_word(word, end)
            case "return" if word == b"as" and self.previous not in _BEFORE_EXPRESSION:
                return "LOWER" if self.previous == "AS" else "AS"
            case "return" if self.previous == "AS":
                return "LOWER"
            case "order" if word in (b"asc", b"desc") and self.previous not in _BEFORE_EXPRESSION:
                return "DIRECTION"
        return self._value_word(word, end)

    def _body_word(self, word: bytes, end: int) -> str:
        if self.previous == "WHERE":
            return "LOWER"
        if self.previous in ("CMP", "LSQB", "_COMMA"):  # the value of a `where`
            return self._value_word(word, end)
        return BODY_WORDS.get(word, "LOWER")

    def _match_word(self, word: bytes, end: int) -> str:
        if word == b"not":
            return "NOT"
        if self.previous in ("_COLON", "LANGLE"):
            return "LOWER"
        if self.previous == "VAR" and _EDGE_FOLLOWS.match(self.data, end):
            return "LOWER"
        if word in TEXT_OPERATORS and self.previous in _ENDS_EXPRESSION:
            return TEXT_OPERATORS[word]
        return self._value_word(word, end)

    def _value_word(self, word: bytes, end: int) -> str:
        if word in _CALLS and _OPENS_PARENTHESIS.match(self.data, end):
            return _CALLS[word]
        return "BOOL" if word in (b"true", b"false") else "LOWER"

    def _angle(self, sign: bytes, end: int) -> str:
        if sign == b">" and self.in_angles:
            self.in_angles = False
            return "RANGLE"
        opens = sign == b"<" and self.block == "match" and self.previous in ("VAR", "_COLON")
        if opens and _IN_ANGLES.match(self.data, end):
            self.in_angles = True
            return "LANGLE"
        return "CMP"


def tokens(data: bytes) -> Iterator[Token]:
    """The tokens of a file, each with its byte span in `start_pos` and `end_pos`."""
    at, words = 0, _Words(data)
    while True:
        at = skip(data, at)
        if at == len(data):
            return
        kind, end = _next(data, at)
        kind = words.kind_of(kind, at, end)
        words.advance(kind, (at, end))
        yield Token(kind, data[at:end].decode(), start_pos=at, end_pos=end)
        at = end


def _next(data: bytes, at: int) -> tuple[str, int]:
    match = _TOKEN.match(data, at)
    if match is None:
        raise _no_token(data, at)
    kind = match.lastgroup or ""
    if kind == "PUNCTUATION":
        return PUNCTUATION[match.group()], match.end()
    if kind in ("INT", "FLOAT") and _EXPONENT.match(data, match.end()):
        raise SourceProblem("a number has no exponent; write it out", (at, match.end() + 1))
    return kind, match.end()


def _no_token(data: bytes, at: int) -> SourceProblem:
    if data.startswith(b"$", at):
        return SourceProblem("a variable is `$` and a name in small letters", (at, at + 1))
    if data.startswith(b"'", at):
        return SourceProblem("a string stands in double quotes", (at, at + 1))
    return no_token(data, at)


class QueryLexer(TokenLexer):
    """Lark's view of `tokens`."""

    tokens = staticmethod(tokens)
