"""The text and the parameters of a query, from options, files or a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from omnigraph.errors import InvalidInput, NotFound

target_option = click.option(
    "--branch", "--at", "branch", metavar="NAME", default="main", help="The branch to change."
)


text_option = click.option("-e", "--expression", metavar="TEXT", help="The text of the query.")
file_option = click.option("--file", metavar="FILE", help="A .gq file; - is stdin.")


def query_options(function: Callable[..., None]) -> Callable[..., None]:
    """Where the text of a query comes from, and its parameters."""
    for option in reversed(
        (
            click.argument("name", metavar="[NAME]", required=False),
            text_option,
            file_option,
            click.option(
                "--params",
                metavar="JSON",
                default="{}",
                show_default=False,
                help="Parameters by name.",
            ),
        )
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class QueryText:
    """A text and the file it came from; no text where a stored query is meant."""

    text: str | None
    file: str | None = None


def source_of(expression: str | None, file: str | None, name: str | None) -> QueryText:
    """The text that -e, --file or a pipe gives; none when NAME is that of a stored query."""
    if expression is not None and file is not None:
        raise click.UsageError("give -e TEXT or --file FILE, not both")
    if expression is not None:
        return QueryText(expression)
    if file is not None:
        return file_source(file)
    if name is not None:
        return QueryText(None)
    if not sys.stdin.isatty():
        piped = file_source("-")
        if piped.text and piped.text.strip():
            return piped
    raise click.UsageError("give -e TEXT, --file FILE, or the NAME of a stored query")


def file_source(file: str) -> QueryText:
    """The text of a file, or of stdin for `-`."""
    try:
        if file == "-":
            return QueryText(sys.stdin.buffer.read().decode(), "<stdin>")
        return QueryText(Path(file).read_text(encoding="utf-8"), file)
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no query file {file!r}", hint="Give the path of a .gq file."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read {file!r}: {error}", hint="Give a text file in UTF-8 that you may read."
        ) from error


def parameters(text: str) -> Any:  # noqa: ANN401
    """The parameters of a call, from their JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the parameters are not JSON: {error}", hint="""Write them as '{"name": "Ada"}'."""
        ) from error
