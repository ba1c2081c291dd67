"""The lexical rules that `.pg` and `.gq` share: blanks, literals, names, spans and parse errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from omnigraph.errors import ParseError

Span = tuple[int, int]

SKIP = rb"(?:[ \t\r\n]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
"""Blanks and comments, as the front of a pattern."""

_TRIVIA = re.compile(SKIP)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


# Past this a number is no number anybody means, and Python refuses to read it.
_MAX_DIGITS = 1000


@dataclass(frozen=True)
class NameNode:
    """A name as it is written."""

    text: str
    span: Span


class SourceProblem(Exception):
    """Something wrong at a place of the text; `parse` turns this into a ParseError."""

    def __init__(self, problem: str, span: Span) -> None:
        super().__init__(problem)
        self.problem = problem
        self.span = span


def _encoded(source: str, file: str | None) -> bytes:
    """The text as UTF-8, which spans count in."""
    try:
        return source.encode()
    except UnicodeEncodeError as error:
        # A lone surrogate has no UTF-8 form, so the message must show a text that has one.
        start = len(source[: error.start].encode())
        readable = source.encode(errors="replace").decode()
        raise ParseError(
            "the text is not valid Unicode", source=readable, span=(start, start + 1), file=file
        ) from None


def skip(data: bytes, at: int) -> int:
    """Where the next token begins."""
    trivia = _TRIVIA.match(data, at)
    assert trivia is not None, "trivia may be empty, so it always matches"
    if data.startswith(b"/*", trivia.end()):
        raise SourceProblem(
            "this comment is never closed; add `*/`", (trivia.end(), trivia.end() + 2)
        )
    return trivia.end()


def no_token(data: bytes, at: int) -> SourceProblem:
    """What is wrong where no token begins."""
    if data.startswith(b'"', at):
        line_end = data.find(b"\n", at)
        return SourceProblem(
            'this string is never closed; add `"`', (at, line_end if line_end > 0 else len(data))
        )
    if data.startswith(b"#", at):
        return SourceProblem("`#` is not a comment; write `// …`", (at, at + 1))
    # A character of several bytes is underlined as a whole.
    end = at + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return SourceProblem(
        f"unexpected character {data[at:end].decode(errors='replace')!r}", (at, end)
    )


def parsed(
    parser: Lark,
    source: str,
    file: str | None,
    expected: Callable[[set[str]], str],
    special: Callable[[Token, set[str]], str | None],
) -> Any:  # noqa: ANN401
    """What the parser's builder makes of a text, or a ParseError in the language's own words."""
    data = _encoded(source, file)
    try:
        # The builder runs inside the parser, so this is already a tuple of typed trees.
        return parser.parse(data)
    except SourceProblem as problem:
        raise ParseError(problem.problem, source=source, span=problem.span, file=file) from None
    except UnexpectedToken as unexpected:
        text, span = _explained(unexpected, data, expected, special)
        raise ParseError(text, source=source, span=span, file=file) from None


def _explained(
    unexpected: UnexpectedToken,
    data: bytes,
    expected: Callable[[set[str]], str],
    special: Callable[[Token, set[str]], str | None],
) -> tuple[str, Span]:
    """What is wrong at a token that the grammar does not take, in a language's own words."""
    token, accepts = unexpected.token, unexpected.accepts or set()
    if token.type == "$END":
        end = len(data.rstrip(b" \t\r\n"))
        return f"the file ends too early: expected {expected(accepts)}", (max(end - 1, 0), end)
    text = special(token, accepts) or f"expected {expected(accepts)}, found `{token}`"
    return text, span_of(token)


def spelled(terminals: Mapping[bytes, str], but: Iterable[str] = ()) -> dict[str, str]:
    """Terminals that are one word or sign of a language, as messages show them."""
    return {kind: f"`{text.decode()}`" for text, kind in terminals.items() if kind not in but}


def expected_words(words: Mapping[str, str], accepts: set[str], *first: str) -> str:
    """What may come next, in the words of a language and in their order."""
    names = [*first, *dict.fromkeys(word for kind, word in words.items() if kind in accepts)]
    if "a number" in names and "a whole number" in names:
        names.remove("a whole number")
    if "$END" in accepts:
        names.append("the end of the file")
    if not names:
        return "nothing more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


# --------------------------------------------------------------------------- tokens


def span_of(first: Token, last: Token | None = None) -> Span:
    """The bytes from one token to another, or of one."""
    return (first.start_pos or 0, (last or first).end_pos or 0)


def name_of(token: Token) -> NameNode:
    """The name that a token spells."""
    return NameNode(str(token), span_of(token))


def integer_value(token: Token) -> int:
    """The number that an integer token stands for."""
    if len(token) > _MAX_DIGITS:
        raise SourceProblem(f"a number has at most {_MAX_DIGITS} digits", span_of(token))
    return int(token)


def float_value(token: Token) -> float:
    """The number that a token with a decimal point stands for."""
    value = float(token)
    if not isfinite(value):
        raise SourceProblem("this number is too large for a 64-bit float", span_of(token))
    return value


def string_value(token: Token) -> str:
    """The text that a string token stands for."""

    def unescape(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            start = (token.start_pos or 0) + len(token[: match.start()].encode())
            end = start + len(match[0].encode())
            raise SourceProblem(
                f'unknown escape `{match[0]}`; a string knows \\" \\\\ \\n \\r \\t', (start, end)
            )
        return _ESCAPES[match[1]]

    return _ESCAPE.sub(unescape, token[1:-1])
