"""The tokens of a SQL text, with their positions in it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

import sqlglot
from sqlglot.tokenizer_core import Token

_QUOTING_WITH_DOLLARS = ("postgres", "duckdb")
_PARAMETER = re.compile(
    r"""(?<!\w)[eE]'(?:\\.|''|[^'\\])*' | '[^']*' | "[^"]*" | --[^\n]* | /\*.*?\*/
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    | (?<![\w$])(?P<parameter>\$(?:\d+|[^\W\d]\w*(?![\w$])))(?=\S)""",
    re.S | re.X,
)
"""`$1` or `$name` right before something else; and what only looks like it, in quotes."""


def tokens_of(text: str, dialect: str) -> list[Token]:
    """The tokens of a text.

    In `$1,$2`, sqlglot takes `$1,$` for the beginning of a text in dollars, though none begins with
    a digit or has a comma there. It does not where a blank follows the parameter.
    """
    if dialect not in _QUOTING_WITH_DOLLARS or "$" not in text:
        return list(sqlglot.tokenize(text, read=dialect))
    ends = [match.end() for match in _PARAMETER.finditer(text) if match["parameter"]]
    parts = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    blanks = [end + index for index, end in enumerate(ends)]
    lines = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    tokens = sqlglot.tokenize(" ".join(parts), read=dialect)
    return [_moved(token, blanks, lines) for token in tokens]


def _moved(token: Token, blanks: list[int], lines: list[int]) -> Token:
    """A token at its position without the blanks; sqlglot counts lines twice behind a dollar."""
    start = token.start - bisect_left(blanks, token.start)
    end = token.end - bisect_left(blanks, token.end)
    line = bisect_right(lines, end)
    column = end - lines[line - 1] + 1
    moved = Token(token.token_type, token.text, line, column, start, end)
    moved.comments = token.comments
    return moved
