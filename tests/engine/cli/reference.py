"""The help pages of every command, as docs/cli.md shows them.

`python tests/engine/cli/reference.py` brings the generated parts of the page up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import click

from omnigraph.cli.app import app

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
_GENERATED = re.compile(r"(<!-- help: (.+?) -->\n).*?(<!-- /help -->)", re.S)


def commands() -> list[tuple[str, click.Context]]:
    """Every command of ours with its full name, groups before their commands."""
    with patch("omnigraph.cli.app._plugins", dict):
        root = click.Context(
            app, info_name="omnigraph", terminal_width=78, help_option_names=["-h", "--help"]
        )
        return list(_below(root))


def _below(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    yield context.command_path, context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from _below(click.Context(command, parent=context, info_name=name))


def with_help(page: str) -> str:
    """The page with every generated part written anew."""
    with patch("omnigraph.cli.app._plugins", dict):
        pages = {name: context.get_help() for name, context in commands()}

    def block(found: re.Match[str]) -> str:
        return f"{found[1]}```text\n{pages[found[2]]}\n```\n{found[3]}"

    return _GENERATED.sub(block, page)


if __name__ == "__main__":
    PAGE.write_text(with_help(PAGE.read_text("utf-8")), "utf-8")
