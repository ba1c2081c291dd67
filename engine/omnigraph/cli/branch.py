"""`omnigraph branch`."""

from __future__ import annotations

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.diff import diff
from omnigraph.cli.merge import merge


@group(
    "branch",
    example="""
    omnigraph branch create draft
    omnigraph branch merge draft
    """,
)
def branch() -> None:
    """Create, list, compare, merge and delete branches of the whole graph."""


branch.add_command(diff)


@branch.command(
    "create",
    example="""
    omnigraph branch create draft
    omnigraph branch create before-import --from main@v1
    """,
)
@click.argument("name")
@click.option(
    "--from",
    "from_",
    metavar="MOMENT",
    default="main",
    show_default=True,
    help="Where it starts: a branch, branch@commit, branch@v42, branch@time or a commit.",
)
@pass_invocation
def create(invocation: Invocation, name: str, from_: str) -> None:
    """Create a branch at a moment of another; copies nothing."""
    made = invocation.graph().create_branch(name, from_)
    if invocation.json:
        output.write_json(made.to_json())
    else:
        output.write_line(f"Created branch {made.name} at {made.commit} (v{made.version}).")


@branch.command("list", example="omnigraph branch list --json")
@pass_invocation
def list_(invocation: Invocation) -> None:
    """List all branches and where they stand."""
    branches = invocation.graph().branches()
    if invocation.json:
        output.write_json({"branches": [each.to_json() for each in branches]})
        return
    output.write_table(
        ["branch", "commit", "version", "forked from"],
        [(each.name, each.commit, f"v{each.version}", each.fork) for each in branches],
        whole=["commit", "forked from"],
    )


@branch.command("delete", example="omnigraph branch delete draft")
@click.argument("name")
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Delete a branch; those forked from it are unaffected."""
    invocation.graph().delete_branch(name)
    if invocation.json:
        output.write_json({"deleted": name.strip()})
    else:
        output.write_line(f"Deleted branch {name.strip()}.")


branch.add_command(merge)
