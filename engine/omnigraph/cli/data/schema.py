"""`omnigraph schema`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.exit_codes import BAD_INPUT
from omnigraph.cli.options import actor_option, at_option, branch_option, message_option
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.schema import SchemaPlan

_allow_data_loss = click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Purge what is dropped, its past included, instead of hiding it.",
)


def schema_source(argument: str) -> str | Path:
    """What the API takes for a schema given as a file name, or as `-` for stdin."""
    if argument != "-":
        return Path(argument)
    try:
        # The line feed tells a text from the name of a file.
        return sys.stdin.buffer.read().decode() + "\n"
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read stdin: {error}") from error


@group(
    "schema",
    example="""
    omnigraph schema show
    omnigraph schema plan social-v2.pg
    omnigraph schema apply social-v2.pg
    """,
)
def schema() -> None:
    """Show the schema, plan a change of it, and apply the change."""


@schema.command("show", example="omnigraph schema show --at main@v1")
@at_option
@pass_invocation
def show(invocation: Invocation, at: str) -> None:
    """Print the .pg source in force at a moment."""
    source = invocation.graph().schema(at).source
    if invocation.json:
        output.write_json({"at": at.strip(), "source": source})
    else:
        click.echo(source, nl=not source.endswith("\n"))


@schema.command("plan", example="omnigraph schema plan social-v2.pg --branch draft")
@click.argument("file")
@branch_option
@_allow_data_loss
@pass_invocation
@click.pass_context
def plan(
    context: click.Context, invocation: Invocation, file: str, branch: str, allow_data_loss: bool
) -> None:
    """Show what applying FILE would do; changes nothing.

    Exits with 2 when apply would refuse it.
    """
    current = invocation.graph().schema(branch)
    planned = current.plan(schema_source(file), allow_data_loss=allow_data_loss)
    document = planned.to_json() | {"diagnostics": list(planned.diagnostics)}
    output.write_answer(invocation, document, partial(_show_plan, planned))
    if not planned.supported:
        context.exit(BAD_INPUT)


@schema.command("apply", example='omnigraph schema apply social-v2.pg --message "add nicknames"')
@click.argument("file")
@branch_option
@_allow_data_loss
@actor_option
@message_option
@pass_invocation
def apply(
    invocation: Invocation,
    file: str,
    branch: str,
    allow_data_loss: bool,
    actor: str | None,
    message: str | None,
) -> None:
    """Change a branch's schema, and its data with it, in one commit."""
    done = invocation.graph().apply_schema(
        schema_source(file),
        branch=branch,
        allow_data_loss=allow_data_loss,
        actor=actor,
        message=message,
    )
    if invocation.json:
        output.write_json(done.to_json() | {"diagnostics": list(done.plan.diagnostics)})
        return
    _show_plan(done.plan)
    if done.commit is not None:
        output.write_line(f"Applied in commit {done.commit.id} (v{done.commit.version}).")


def _show_plan(planned: SchemaPlan) -> None:
    if planned.is_empty:
        output.write_line("The schema is unchanged; there is nothing to do.")
    else:
        output.write_table(
            ["step", "of", "details"], [_step(step.to_json()) for step in planned.steps]
        )
    for remark in planned.diagnostics:
        output.write_line(f"Note: {remark}")


def _step(facts: Mapping[str, Any]) -> tuple[str, str, str]:
    rest = dict(facts)
    kind = str(rest.pop("kind")).replace("_", " ")
    names = [rest.pop(key, None) for key in ("type_name", "name", "property_name", "entity")]
    subject = ".".join(str(name) for name in names if name)
    type_kind = rest.pop("type_kind", None)
    details = [f"{key}: {_value(value)}" for key, value in rest.items() if value is not None]
    return kind, f"{type_kind} {subject}".strip() if type_kind else subject, ", ".join(details)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
