"""`omnigraph tag`."""

from __future__ import annotations

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.options import MOMENTS


@group(
    "tag",
    example="""
    omnigraph tag create v1
    omnigraph tag list
    """,
)
def tag() -> None:
    """Name commits, which then stay readable."""


@tag.command(
    "create",
    example="""
    omnigraph tag create v1
    omnigraph tag create before-import --at main@v1
    """,
)
@click.argument("name")
@click.option("--at", metavar="MOMENT", default="main", help=f"What it names: {MOMENTS}.")
@pass_invocation
def create(invocation: Invocation, name: str, at: str) -> None:
    """Name the commit of a moment.

    Collections keep it until the tag is deleted.
    """
    made = invocation.graph().tags.create(name, at)
    output.write_answer(invocation, made.to_json(), f"Tagged {made.commit} as {made.name}.")


@tag.command("list", example="omnigraph tag list --json")
@pass_invocation
def list_(invocation: Invocation) -> None:
    """List all tags and what they name."""
    tags = invocation.graph().tags.list()
    if invocation.json:
        output.write_json({"tags": [each.to_json() for each in tags]})
        return
    output.write_table(
        ["tag", "commit", "branch", "made"],
        [(each.name, each.commit, each.branch, output.moment(each.time)) for each in tags],
        whole=["commit", "made"],
    )


@tag.command("delete", example="omnigraph tag delete v1")
@click.argument("name")
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Forget a tag.

    What only it kept goes with the next collection.
    """
    invocation.graph().tags.delete(name)
    output.write_answer(invocation, {"deleted": name.strip()}, f"Deleted tag {name.strip()}.")
