"""What commands say: tables for people, one JSON document for programs, errors on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click

from omnigraph.cli.command import Invocation
from omnigraph.errors import OmniGraphError

DEBUG_VARIABLE = "OMNIGRAPH_DEBUG"
LINES_AT_ONCE = 512
# Names and values come from data: what they hold must not steer the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def write_json(document: Any, *, err: bool = False) -> None:  # noqa: ANN401
    """One JSON document on stdout (or stderr), as UTF-8 whatever the locale."""
    text = json.dumps(document, ensure_ascii=False, indent=2, default=str)
    # A lone surrogate of a file name becomes the escape that JSON has for it.
    click.echo(text.encode("utf-8", "backslashreplace"), err=err)


def write_line(text: str) -> None:
    """One line for people."""
    click.echo(clean(text))


def write_answer(
    invocation: Invocation,
    document: Any,  # noqa: ANN401
    shown: str | Callable[[], None],
) -> None:
    """The outcome of a command: one JSON document with `--json`, else what people are shown."""
    if invocation.json:
        write_json(document)
    elif isinstance(shown, str):
        write_line(shown)
    else:
        shown()


def write_lines(lines: Iterable[str]) -> None:
    """Lines of JSON, some at a time, so that a reader who has seen enough is noticed soon."""
    remaining = iter(lines)
    while part := list(islice(remaining, LINES_AT_ONCE)):
        click.echo("\n".join(part).encode("utf-8", "backslashreplace"))


def moment(shown: datetime, precision: str = "seconds") -> str:
    """`2026-11-01T00:00:00Z`."""
    return shown.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def shortened(text: str, most: int = 60) -> str:
    """The text, or its beginning where it is too long for a table."""
    return text if len(text) <= most else text[: most - 1] + "…"


def write_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Iterable[str] = (),
    whole: Iterable[str] = (),
) -> None:
    """A table for people: fitted to a terminal, in full and without frames where it is piped.

    `numbers` are columns to align to the right, `whole` those that are never broken into lines.
    """
    header = [_cell(column) for column in columns]
    cells = [[_cell(value) for value in row] for row in rows]
    right = [column in frozenset(numbers) for column in columns]
    if sys.stdout.isatty():
        unbroken = [column in frozenset(whole) for column in columns]
        click.echo(_framed(header, cells, right, unbroken))
    else:
        click.echo("\n".join(_plain(header, cells, right)))


def _plain(header: list[str], cells: list[list[str]], right: list[bool]) -> Iterator[str]:
    lines = [header, *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = zip(line, widths, right, strict=True)
        yield "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in padded).rstrip()


def _framed(header: list[str], cells: list[list[str]], right: list[bool], whole: list[bool]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, is_number, is_whole in zip(header, right, whole, strict=True):
        table.add_column(
            Text(column),
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=is_whole,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console()
    with console.capture() as captured:
        console.print(table)
    return captured.get().strip("\n")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return clean(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def clean(text: str) -> str:
    """The text with its control characters made visible."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shown_size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def write_error(error: BaseException, *, as_json: bool) -> None:
    """What went wrong and what to do next, on stderr."""
    if os.environ.get(DEBUG_VARIABLE):
        lines = traceback.format_exception(error)
        click.echo("".join(lines).encode("utf-8", "backslashreplace"), err=True)
    body = _described(error)
    if as_json:
        write_json(body, err=True)
        return
    click.echo(click.style("Error: ", fg="red", bold=True) + clean(body["error"]), err=True)
    if body.get("hint"):
        click.echo(clean(body["hint"]), err=True)


def _described(error: BaseException) -> dict[str, Any]:
    if isinstance(error, OmniGraphError):
        return error.to_json()
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "omnigraph"
        return {
            "error": error.format_message(),
            "code": "usage",
            "hint": f"See `{where} --help`.",
        }
    if isinstance(error, click.ClickException):
        return {"error": error.format_message(), "code": "bad_request"}
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return {"error": "interrupted", "code": "interrupted"}
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return {
        "error": f"unexpected internal error: {words}",
        "code": "unexpected",
        "hint": f"Please report this bug, with the traceback that {DEBUG_VARIABLE}=1 shows.",
    }


class Stdout:
    """Standard output that takes all it is given, also where Python runs without buffers."""

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]
        return size


def close_stdout() -> None:
    """Let nothing more go to a pipe that nobody reads, not even at exit."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, sys.stdout.fileno())
    os.close(quiet)
