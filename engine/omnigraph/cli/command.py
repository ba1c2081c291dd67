"""What every command shares: `--store`, `--json`, and an example under its help.

Other distributions build their subcommands with `command` and `group`, too, so that they take the
same options in the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph

STORE_VARIABLE = "OMNIGRAPH_STORE"


@dataclass
class Invocation:
    """What one run of `omnigraph` was asked for besides its command; `pass_invocation` gives it."""

    store: str | None = None
    json: bool = False
    durability: str | None = None

    def uri(self) -> str:
        """Where the graph is."""
        if not self.store:
            raise InvalidInput(
                "no graph is given", hint=f"Name it with --store URI, or set {STORE_VARIABLE}."
            )
        return self.store

    def graph(self) -> Graph:
        """The graph, opened."""
        import omnigraph

        return omnigraph.open(self.uri(), durability=self.durability)


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)


def is_given(context: click.Context, option: str) -> bool:
    """Whether an option stands on the command line, and is not its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def remember(context: click.Context, option: click.Parameter, value: Any) -> None:  # noqa: ANN401
    """Keep the value of an option in the invocation."""
    # The same option may come before and after the subcommand; what comes last is meant.
    if value:
        setattr(context.ensure_object(Invocation), option.name or "", value)


def _shared_options(envvar: str | None) -> list[click.Parameter]:
    return [
        click.Option(
            ["--store"],
            metavar="URI",
            envvar=envvar,
            expose_value=False,
            callback=remember,
            help=f"The graph: a path, file:// or s3:// URI.  [default: ${STORE_VARIABLE}]",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=remember,
            help="Write one JSON document, for programs.",
        ),
    ]


class Command(click.Command):
    """A command with the shared options and an example."""

    def __init__(
        self,
        name: str | None,
        *,
        example: str = "",
        store_variable: str | None = None,
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(name, **attributes)
        self.example = example
        for option in self.params:
            if isinstance(option, click.Option) and option.show_default is None:
                option.show_default = True
        self.params += _shared_options(store_variable)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.example:
            with formatter.section("Example"):
                for line in self.example.strip().splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")


class Group(Command, click.Group):
    """A group of commands with the shared options and an example."""

    command_class = Command


def command(name: str, *, example: str) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function; its docstring is the help, its first line the purpose."""
    return click.command(name, cls=Command, example=example)


def group(name: str, *, example: str) -> Callable[[Callable[..., None]], Group]:
    """Make a group of commands of a function."""
    return click.group(name, cls=Group, example=example)
