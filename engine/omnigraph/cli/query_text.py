"""The text and the parameters of a query, from options, files or a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import click

from omnigraph.errors import InvalidInput, NotFound

target_option = click.option(
    "--branch", "--at", "branch", metavar="NAME", default="main", help="The branch to change."
)


text_option = click.option("-e", "--expression", metavar="TEXT", help="The text of the query.")
file_option = click.option("--file", metavar="FILE", help="A .gq file; - is stdin.")


params_option = click.option(
    "--params", metavar="JSON", default="{}", show_default=False, help="Parameters by name."
)


@dataclass(frozen=True)
class QueryText:
    """A text and the file it came from; no text where a stored query is meant."""

    text: str | None
    file: str | None = None


@dataclass(frozen=True)
class QueryCall:
    """A query as a command line names it."""

    name: str | None
    expression: str | None
    file: str | None
    params: str

    @cached_property
    def source(self) -> QueryText:
        """Its text; none when the name is that of a stored query."""
        return source_of(self.expression, self.file, self.name)

    def arguments(self) -> tuple[str | None, str | None, Any]:
        """Text, name and parameters, as the API takes them."""
        return self.source.text, self.name, parameters(self.params)


def query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a query, and what they say as its argument `call`."""

    @click.argument("name", metavar="[NAME]", required=False)
    @text_option
    @file_option
    @params_option
    @wraps(command)
    def with_call(*args: Any, **options: Any) -> None:  # noqa: ANN401
        call = QueryCall(**{each.name: options.pop(each.name) for each in fields(QueryCall)})
        command(*args, call=call, **options)

    return with_call


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
