"""Text to tree, or a ParseError that says in words what was expected."""

from __future__ import annotations

from functools import cache

from lark import Lark, Token

from omnigraph.common.grammar import load_parser
from omnigraph.common.lexical import expected_words, parsed, spelled
from omnigraph.query.syntax.lexer import BODY_WORDS, PUNCTUATION, TEXT_OPERATORS, QueryLexer
from omnigraph.query.syntax.tree import QueryFile
from omnigraph.query.syntax.tree_builder import QueryTreeBuilder

# How each token is called in "expected …"; the order here is the order they are named in.
_WORDS = {
    "QUERY": "`query`",
    **spelled(BODY_WORDS),
    "NOT": "`not { … }`",
    "VAR": "a variable",
    "UPPER": "a type name",
    "LOWER": "a name",
    "STRING": "a string",
    "FLOAT": "a number",
    "INT": "a whole number",
    "BOOL": "a truth value",
    "LSQB": "a list",
    "NOW": "a call",
    "DATE": "a call",
    "SEARCH": "a call",
    "NEAREST": "a call",
    "AGGREGATE": "a call",
    "CMP": "a comparison",
    **spelled(TEXT_OPERATORS),
    "LANGLE": "`<edge>`",
    "RANGLE": "`>`",
    "AS": "`as`",
    "DIRECTION": "`asc` or `desc`",
    **spelled(PUNCTUATION, but=("LSQB", "AT")),
    "AT": "`@description` or `@instruction`",
}
_EXPRESSION = {"VAR", "STRING", "FLOAT", "INT", "BOOL", "LSQB", "NOW", "DATE"}


def parse(source: str, file: str | None = None) -> QueryFile:
    """Parse a `.gq` text; `file` only names it in errors."""
    queries = parsed(_parser(), source, file, _expected, _special)
    return QueryFile(source, file, queries)


@cache
def _parser() -> Lark:
    return load_parser("omnigraph.query.syntax", QueryLexer, QueryTreeBuilder())


def _special(token: Token, accepts: set[str]) -> str | None:
    """Better words for the mistakes people make most."""
    if token in ("and", "or"):
        return f"there is no `{token}`; clauses that follow each other must all hold"
    if token == "null":
        return "there is no `null` literal; leave the property out"
    if token == "mutation" and "INSERT" in accepts:
        return "a mutation has no wrapper; write `insert`, `update` or `delete` directly"
    if token == "(" and "VAR" in accepts:
        return "parentheses group nothing here; write the clauses one after the other"
    if token == "=" and "VAR" in accepts:
        return "equality is written with a single `=`"
    if token.type in ("CONTAINS", "STARTS_WITH") and accepts == {"CMP"}:
        return f"`where` takes a comparison, not `{token}`"
    if token.type == "NOT" and "LANGLE" in accepts:
        return "`not` cannot name an edge here"
    if token.type == "LOWER" and accepts == {"UPPER"}:
        return f"expected a type name, found `{token}`; a type name starts with a capital letter"
    if token.type == "UPPER" and "LOWER" in accepts:
        return f"expected {_expected(accepts)}, found `{token}`; a name starts with a small letter"
    return None


def _expected(accepts: set[str]) -> str:
    if not accepts >= _EXPRESSION:
        return expected_words(_WORDS, accepts)
    others = accepts - _EXPRESSION - {"LOWER", "SEARCH", "NEAREST", "AGGREGATE"}
    return expected_words(_WORDS, others, "an expression")
