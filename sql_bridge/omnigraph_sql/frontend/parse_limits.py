"""How long and how deep a statement may be."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.parse_errors import pointing

MAX_TEXT = 4 << 20
MAX_DEPTH = 120
MAX_CHAIN = 1000
"""How long a chain of operators may be, as in `a + b + c …`: DataFusion walks it recursively."""

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


def require_shallow(text: str, tokens: list[Token]) -> None:
    """Refuse nesting that would exhaust a stack here or in DataFusion."""
    depth = 0
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                raise pointing(
                    text, f"nested deeper than {MAX_DEPTH} levels", token.start, token.end + 1
                )
        elif token.token_type in _CLOSING:
            depth -= 1


def require_short_chains(tree: exp.Expr) -> None:
    """Refuse chains that would overflow DataFusion's stack, which ends the process."""
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH + MAX_CHAIN:
            raise too_deep()
        pending.extend((child, depth + 1) for child in node.iter_expressions())


def too_deep() -> InvalidInput:
    """The error of a statement whose tree exhausts the stack."""
    return InvalidInput("the statement is nested too deeply", hint="Split it into smaller ones.")
