"""CREATE NODE TABLE and CREATE EDGE TABLE, parsed as CREATE TABLE.

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
from sqlglot.tokenizer_core import TokenType

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.parser import parse_one


@dataclass(frozen=True)
class CreateType:
    """A statement that makes a node or edge type."""

    kind: Literal["node", "edge"]
    create: exp.Create
    ends: tuple[str, str] | None
    """The node types an edge goes between, as they were written."""


def read_create_type(command: exp.Command, dialect: str) -> CreateType:
    """The statement in a command that the parser left as text."""
    words = str(command.this).upper().split()
    body = str(command.expression or "")
    kind: Literal["node", "edge"] = "node" if "NODE" in words else "edge"
    ends = None
    if kind == "edge":
        body, ends = _without_ends(body, dialect)
    start = "CREATE OR REPLACE TABLE" if "REPLACE" in words else "CREATE TABLE"
    tree = parse_one(f"{start} {body}", dialect).tree.copy()
    if not isinstance(tree, exp.Create):
        raise InvalidInput(f"CREATE {kind.upper()} TABLE cannot be parsed", hint=_hint(kind))
    return CreateType(kind, tree, ends)


def _hint(kind: str) -> str:
    between = " FROM Person TO Person" if kind == "edge" else ""
    return f"Write CREATE {kind.upper()} TABLE name{between} (column TYPE, …) [AS SELECT …]."


def _without_ends(body: str, dialect: str) -> tuple[str, tuple[str, str]]:
    """The statement without FROM and TO, and the node types they name."""
    tokens = list(sqlglot.tokenize(body, read=dialect))
    depth = 0
    for index, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.token_type is TokenType.ALIAS:
            break
        elif depth == 0 and token.token_type is TokenType.FROM and index + 3 < len(tokens):
            src, to, dst = tokens[index + 1 : index + 4]
            if to.text.upper() == "TO":
                return body[: token.start] + body[dst.end + 1 :], (src.text, dst.text)
    raise InvalidInput("an edge goes FROM a node type TO a node type", hint=_hint("edge"))
