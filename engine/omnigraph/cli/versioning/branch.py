"""`omnigraph branch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.options import MOMENTS
from omnigraph.cli.versioning.diff import diff
from omnigraph.cli.versioning.merge import merge

if TYPE_CHECKING:
    from omnigraph.api.references import Branch


@group(
    "branch",
    example="""
    omnigraph branch create draft
    omnigraph branch merge draft
    """,
)
def branch() -> None:
    """Create, list, protect, compare, merge and delete branches."""


branch.add_command(diff)


@branch.command(
    "create",
    example="""
    omnigraph branch create draft
    omnigraph branch create before-import --from main@v1
    omnigraph branch create scratch --ttl 24h --owner ann
    """,
)
@click.argument("name")
@click.option(
    "--from", "from_", metavar="MOMENT", default="main", help=f"Where it starts: {MOMENTS}."
)
@click.option(
    "--ttl", metavar="TIME", help="Let collections remove it after this time: 90s, 30m, 24h, 7d."
)
@click.option("--owner", metavar="NAME", help="Who it is for.")
@pass_invocation
def create(
    invocation: Invocation, name: str, from_: str, ttl: str | None, owner: str | None
) -> None:
    """Create a branch at a moment of another; copies nothing."""
    made = invocation.graph().create_branch(name, from_, ttl=ttl, owner=owner)
    text = f"Created branch {made.name} at {made.commit} (v{made.version})."
    output.write_answer(invocation, made.to_json(), text)


@branch.command("list", example="omnigraph branch list --json")
@click.option("--all", "hidden", is_flag=True, help="Hidden branches of the machinery, too.")
@pass_invocation
def list_(invocation: Invocation, hidden: bool) -> None:
    """List all branches and where they stand."""
    branches = invocation.graph().branches(hidden=hidden)
    if invocation.json:
        output.write_json({"branches": [each.to_json() for each in branches]})
        return
    notes = [_notes(each) for each in branches]
    rows = [(each.name, each.commit, f"v{each.version}", each.fork) for each in branches]
    output.write_table(
        ["branch", "commit", "version", "forked from", *(["notes"] if any(notes) else [])],
        [(*row, note) if any(notes) else row for row, note in zip(rows, notes, strict=True)],
        whole=["commit", "forked from"],
    )


def _notes(shown: Branch) -> str | None:
    """What is special about a branch."""
    notes = ["protected"] if shown.protected else []
    if shown.owner:
        notes.append(f"of {shown.owner}")
    if shown.expires:
        notes.append(f"until {output.moment(shown.expires)}")
    return ", ".join(notes) or None


@branch.command("protect", example="omnigraph branch protect main")
@click.argument("name")
@pass_invocation
def protect(invocation: Invocation, name: str) -> None:
    """Let only merges move a branch, and nobody delete it."""
    shown = invocation.graph().protect_branch(name)
    text = f"Branch {shown.name} is protected: it takes merges only."
    output.write_answer(invocation, shown.to_json(), text)


@branch.command("unprotect", example="omnigraph branch unprotect main")
@click.argument("name")
@pass_invocation
def unprotect(invocation: Invocation, name: str) -> None:
    """Let a branch take direct writes again."""
    shown = invocation.graph().unprotect_branch(name)
    text = f"Branch {shown.name} takes direct writes again."
    output.write_answer(invocation, shown.to_json(), text)


@branch.command("delete", example="omnigraph branch delete draft")
@click.argument("name")
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Delete a branch; those forked from it are unaffected."""
    invocation.graph().delete_branch(name)
    output.write_answer(invocation, {"deleted": name.strip()}, f"Deleted branch {name.strip()}.")


branch.add_command(merge)
