"""Syntax errors, which point into the text."""

from __future__ import annotations

from sqlglot.errors import ParseError as SqlglotParseError

from omnigraph.errors import InvalidInput, ParseError


def mixed_parameters() -> InvalidInput:
    """The error of a statement that mixes the styles of parameters."""
    return InvalidInput(
        "the statement mixes styles of parameters", hint="Use only ?, only $1 or only :name."
    )


def explained(text: str, error: SqlglotParseError) -> InvalidInput:
    """A syntax error that sqlglot found."""
    first = error.errors[0] if error.errors else {}
    description = str(first.get("description") or error).strip().rstrip(".")
    line, column, shown = first.get("line"), first.get("col"), str(first.get("highlight") or "")
    if line is None or column is None:
        return InvalidInput(f"the statement cannot be parsed: {description}")
    lines = text.split("\n")
    end = sum(len(one) + 1 for one in lines[: int(line) - 1]) + int(column)
    if description.startswith("Required keyword"):
        problem = f"something is missing after {shown!r}"
    elif description.startswith(("Invalid expression", "Expecting", "Expected")):
        problem = f"syntax error at {shown!r}: {description[0].lower()}{description[1:]}"
    else:
        problem = description
    return pointing(text, problem, max(end - len(shown), 0), end)


def pointing(text: str, problem: str, start: int, end: int) -> ParseError:
    """A syntax error at some characters of the text."""
    span = (len(text[:start].encode()), len(text[:end].encode()))
    return ParseError(problem, source=text, span=span)
