"""CREATE NODE TABLE and CREATE EDGE TABLE, which no SQL parser knows, as CREATE TABLE.

    CREATE [OR REPLACE] NODE TABLE [IF NOT EXISTS] Person (name TEXT PRIMARY KEY, …) [AS SELECT …]
    CREATE [OR REPLACE] EDGE TABLE [IF NOT EXISTS] Knows FROM Person TO Person [(…)] [AS SELECT …]

FROM and TO are found among the tokens outside of parentheses, before AS; the rest is what a
CREATE TABLE would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.frontend.parser import parse_one


@dataclass(frozen=True)
class CreateType:
    """A statement that makes a node or edge type."""

    kind: Literal["node", "edge"]
    create: exp.Create
    ends: tuple[IdentifierPart, IdentifierPart] | None


def read_create_type(command: exp.Command, dialect: str) -> CreateType:
    """The statement in a command that `parsing` left to us."""
    words = str(command.this).upper().split()
    body = str(command.expression or "")
    kind: Literal["node", "edge"] = "node" if "NODE" in words else "edge"
    ends = None
    if kind == "edge":
        body, ends = _without_ends(body, dialect)
    start = "CREATE OR REPLACE TABLE" if "REPLACE" in words else "CREATE TABLE"
    tree = parse_one(f"{start} {body}", dialect).tree.copy()
    if not isinstance(tree, exp.Create):
        raise InvalidInput(f"CREATE {kind.upper()} TABLE cannot be read", hint=_hint(kind))
    return CreateType(kind, tree, ends)


def _hint(kind: str) -> str:
    between = " FROM Person TO Person" if kind == "edge" else ""
    return f"Write CREATE {kind.upper()} TABLE name{between} (column TYPE, …) [AS SELECT …]."


def _without_ends(body: str, dialect: str) -> tuple[str, tuple[IdentifierPart, IdentifierPart]]:
    tokens = list(sqlglot.tokenize(body, read=dialect))
    found = _find_ends(tokens)
    if found is None:
        raise InvalidInput("an edge goes FROM a node type TO a node type", hint=_hint("edge"))
    first, src, dst, last = found
    rest = body[: first.start] + body[last.end + 1 :]
    return rest, (_name(src), _name(dst))


def _find_ends(tokens: list[Token]) -> tuple[Token, Token, Token, Token] | None:
    depth = 0
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.token_type is TokenType.ALIAS:
            return None
        elif depth == 0 and token.token_type is TokenType.FROM and place + 3 < len(tokens):
            src, to, dst = tokens[place + 1 : place + 4]
            if to.text.upper() == "TO":
                return token, src, dst, dst
    return None


def _name(token: Token) -> IdentifierPart:
    return IdentifierPart(token.text, token.token_type is TokenType.IDENTIFIER)
