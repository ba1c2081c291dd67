"""The root command: finds a subcommand by name and imports only the module it lives in."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.command import STORE_VARIABLE, Group, remember

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGINS = "omnigraph.commands"
"""The entry-point group through which other distributions add subcommands."""

_COMMANDS = {
    "init": "data.init",
    "load": "data.load",
    "export": "data.export",
    "snapshot": "data.snapshot",
    "query": "data.query",
    "mutate": "data.query",
    "explain": "data.query",
    "lint": "data.query",
    "queries": "data.queries",
    "shell": "data.shell",
    "branch": "versioning.branch",
    "tag": "versioning.tag",
    "commit": "versioning.commit",
    "log": "versioning.log",
    "changes": "versioning.diff",
    "feed": "versioning.feed",
    "schema": "data.schema",
    "optimize": "data.maintenance",
    "collect": "data.maintenance",
    "verify": "data.maintenance",
    "backup": "data.backup",
    "restore": "data.backup",
    "repair": "data.backup",
}
"""Our own commands, in the order of the help page, and the modules they live in."""


class App(Group):
    """The root group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *sorted(_plugins())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module = import_module(f"omnigraph.cli.{_COMMANDS[cmd_name]}")
            found: click.Command = getattr(module, cmd_name)
            return found
        plugin = _plugins().get(cmd_name)
        return None if plugin is None else _loaded(plugin)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would end with 1, as if something had gone wrong.
            from omnigraph.cli.exit_codes import BROKEN_PIPE
            from omnigraph.cli.output import close_stdout

            close_stdout()
            ctx.exit(BROKEN_PIPE)


def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {
        found.name: found for found in entry_points(group=PLUGINS) if found.name not in _COMMANDS
    }


def _loaded(plugin: EntryPoint) -> click.Command:
    """The command of an entry point, or one that says why it cannot be had."""
    try:
        found = plugin.load()
        if isinstance(found, click.Command):
            return found
        problem: Exception = TypeError(f"{plugin.value} is not a click command")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs: ours must still run
        problem = error
    return _Broken(plugin, problem)


class _Broken(click.Command):
    """Stands for a plug-in that cannot be loaded: a note in the help, an error when it is run."""

    def __init__(self, plugin: EntryPoint, problem: Exception) -> None:
        origin = plugin.dist.name if plugin.dist else plugin.value
        self.problem = problem
        self.message = (
            f"the command {plugin.name!r} of {origin} cannot be loaded: "
            f"{type(problem).__name__}: {problem}"
        )
        super().__init__(
            plugin.name,
            short_help=f"(cannot be loaded: {type(problem).__name__}, from {origin})",
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
            add_help_option=False,
        )

    def invoke(self, ctx: click.Context) -> None:
        from omnigraph.errors import InvalidInput

        raise InvalidInput(
            self.message, hint="Install that package again, in a version made for this one."
        ) from self.problem


def _show_version(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if not requested:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"omnigraph {version('omnigraph')}")
    except PackageNotFoundError:
        click.echo("omnigraph (not installed: running from its source)")
    context.exit()


@click.group(
    "omnigraph",
    cls=App,
    store_variable=STORE_VARIABLE,
    context_settings={"help_option_names": ["-h", "--help"]},
    example="""
    omnigraph init social.pg social.omni
    omnigraph load --store social.omni people.ndjson
    omnigraph snapshot --store social.omni Person
    """,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.option(
    "--durability",
    type=click.Choice(["sync", "os"]),
    expose_value=False,
    callback=remember,
    help="What a commit on local disk survives: `sync` a power cut, `os` the end of the process."
    "  [default: $OMNIGRAPH_DURABILITY, or sync]",
)
def app() -> None:
    """A typed property graph in Lance tables, with branches and one atomic publish.

    \b
    Exit codes: 0 done, 2 wrong input or usage, 3 not found, 4 conflict, 5 storage.
    """
