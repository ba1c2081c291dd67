"""SQL text to trees: statements of one text, each parsed in the session's dialect."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph.errors import InvalidInput, ResourceLimit
from omnigraph_sql.frontend.parse_errors import explained, mixed_parameters, pointing
from omnigraph_sql.frontend.parse_limits import (
    MAX_TEXT,
    require_shallow,
    require_short_chains,
    too_deep,
)
from omnigraph_sql.frontend.tokenizer import tokens_of

DIALECTS = ("postgres", "duckdb", "spark", "snowflake", "tsql", "mysql", "bigquery")

# sqlglot warns where it falls back to a command; what we cannot run, we refuse ourselves.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_NUMBERED = re.compile(r"^\$[0-9]+$")
"""A parameter that a dialect takes for a name."""
_DAY_TIME = re.compile(r"(?<=\S\s)([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$")
"""The time in an interval of days and a time."""
_OPERANDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
}

_ISOLATION = re.compile(
    r"(TRANSACTION|WORK|ISOLATION|LEVEL|READ|ONLY|WRITE|COMMITTED|UNCOMMITTED|REPEATABLE|SNAPSHOT|"
    r"SERIALIZABLE|DEFERRABLE|NOT|DEFERRED|IMMEDIATE|EXCLUSIVE|,)$"
)
"""The words that may follow BEGIN and START."""

OWN_STATEMENTS = (
    ("SHOW",),
    ("EXPLAIN",),
    ("SAVEPOINT",),
    ("RELEASE",),
    ("CREATE", "BRANCH"),
    ("DROP", "BRANCH"),
    ("MERGE", "BRANCH"),
    ("CREATE", "TAG"),
    ("DROP", "TAG"),
    ("CREATE", "NODE", "TABLE"),
    ("CREATE", "EDGE", "TABLE"),
    ("CREATE", "OR", "REPLACE", "NODE", "TABLE"),
    ("CREATE", "OR", "REPLACE", "EDGE", "TABLE"),
)
"""Statements of our own, as `exp.Command(this="CREATE BRANCH", expression=<the rest>)`."""


@dataclass(frozen=True)
class Parsed:
    """One statement of a text."""

    text: str
    tree: exp.Expr


def require_dialect(name: str) -> str:
    """A supported dialect by its name or an alias."""
    aliases = {"postgresql": "postgres", "mssql": "tsql", "databricks": "spark"}
    dialect = aliases.get(name.lower(), name.lower())
    if dialect not in DIALECTS:
        raise InvalidInput(f"there is no dialect {name!r}", hint=f"Use {', '.join(DIALECTS)}.")
    return dialect


@lru_cache(maxsize=512)
def parse(text: str, dialect: str) -> tuple[Parsed, ...]:
    """The statements of a text. The trees are shared: copy one before changing it."""
    if len(text) > MAX_TEXT:
        raise ResourceLimit("the length of a SQL text", MAX_TEXT, len(text))
    try:
        tokens = tokens_of(text, dialect)
    except TokenError as error:
        raise pointing(text, f"the text cannot be parsed: {error}", len(text), len(text)) from None
    groups = groupby(tokens, lambda token: token.token_type is TokenType.SEMICOLON)
    statements = [list(group) for separates, group in groups if not separates]
    return tuple(
        Parsed(text[part[0].start : part[-1].end + 1], _tree(text, part, dialect))
        for part in statements
    )


def parse_one(text: str, dialect: str) -> Parsed:
    """The only statement of a text."""
    return only(parse(text, dialect))


def only(statements: Sequence[Parsed]) -> Parsed:
    """The statement of a text that holds one."""
    if len(statements) != 1:
        raise InvalidInput(
            f"the text holds {len(statements)} statements, one is expected here",
            hint="Send them one at a time.",
        )
    return statements[0]


def _tree(text: str, tokens: list[Token], dialect: str) -> exp.Expr:
    own = _own_statement(text, tokens)
    if own is not None:
        return own
    if _begins(tokens):
        return exp.Transaction()
    require_shallow(text, tokens)
    parser = sqlglot.Dialect.get_or_raise(dialect).parser()
    try:
        trees = parser.parse(_numbered(tokens), text)
    except SqlglotParseError as error:
        raise explained(text, error) from None
    except RecursionError:
        raise too_deep() from None
    except SqlglotError as error:
        raise InvalidInput(f"the statement cannot be parsed: {error}") from None
    (tree,) = (tree for tree in trees if tree is not None)
    assert isinstance(tree, exp.Expr)
    require_short_chains(tree)
    return tree


def _own_statement(text: str, tokens: list[Token]) -> exp.Command | None:
    words = tuple(token.text.upper() for token in tokens[:5])
    for own in OWN_STATEMENTS:
        if words[: len(own)] == own:
            body = text[tokens[len(own) - 1].end + 1 : tokens[-1].end + 1].strip()
            return exp.Command(this=" ".join(own), expression=body)
    return None


def _begins(tokens: list[Token]) -> bool:
    """Whether a statement begins a transaction; every isolation level is the one there is."""
    words = [token.text.upper() for token in tokens]
    begins = words[0] == "BEGIN" or words[:2] == ["START", "TRANSACTION"]
    return begins and all(_ISOLATION.match(word) for word in words[1:])


def _numbered(tokens: list[Token]) -> list[Token]:
    """The tokens with `?` as `:1`, `:2`, …: trees do not keep the order of the text.

    The name of a parameter may be a keyword, which only a plain word may be to the parser.
    """
    tokens = list(_normalized(tokens))
    kinds = {token.token_type for token in tokens}
    if TokenType.PLACEHOLDER in kinds and TokenType.PARAMETER in kinds:
        raise mixed_parameters()
    numbered: list[Token] = []
    number = 0
    for token in tokens:
        if token.token_type is TokenType.PLACEHOLDER:
            number += 1
            numbered.append(_like(token, TokenType.COLON, ":"))
            numbered.append(_like(token, TokenType.VAR, str(number)))
        elif token.token_type is TokenType.VAR and _NUMBERED.match(token.text):
            numbered.append(_like(token, TokenType.COLON, ":"))
            numbered.append(_like(token, TokenType.VAR, token.text[1:]))
        elif _names_parameter(numbered, token):
            numbered.append(_like(token, TokenType.VAR, token.text))
        else:
            numbered.append(token)
    return numbered


def _normalized(tokens: list[Token]) -> Iterator[Token]:
    """`?::int` is a parameter that is cast, unless something stands before it.

    And `INTERVAL '1 day 02:30'` has hours, which the parser would drop.
    """
    before: Token | None = None
    for token in tokens:
        operand = before is not None and before.token_type in _OPERANDS
        if token.token_type is TokenType.QDCOLON and not operand:
            yield _like(token, TokenType.PLACEHOLDER, "?")
            yield _like(token, TokenType.DCOLON, "::")
        elif (
            token.token_type is TokenType.STRING
            and before is not None
            and before.token_type is TokenType.INTERVAL
        ):
            yield _like(token, TokenType.STRING, _DAY_TIME.sub(_spelled_out, token.text))
        else:
            yield token
        before = token


def _spelled_out(time: re.Match[str]) -> str:
    sign, hours, minutes, seconds = time.groups(default="0")
    sign = "-" if sign == "-" else ""
    return f"{sign}{int(hours)} hours {sign}{int(minutes)} minutes {sign}{seconds} seconds"


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _names_parameter(before: list[Token], token: Token) -> bool:
    """Whether a word stands right behind a colon that stands apart."""
    if not before or before[-1].token_type is not TokenType.COLON or not token.text.isidentifier():
        return False
    colon = before[-1]
    apart = len(before) < 2 or before[-2].end + 1 < colon.start or before[-2].text in "(,=<>+-*/"
    return apart and token.start == colon.end + 1
