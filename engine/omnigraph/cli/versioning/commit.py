"""`omnigraph commit`."""

from __future__ import annotations

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation


@group(
    "commit",
    example="""
    omnigraph commit list --limit 5
    omnigraph commit show 01JCQ8Z5M3V7T9K2X4B6N8D0FH
    """,
)
def commit() -> None:
    """Look at the history of a branch."""


@commit.command("list", example="omnigraph commit list --branch draft --limit 5")
@click.option("--branch", metavar="NAME", default="main", help="Whose history.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.  [default: all]"
)
@pass_invocation
def list_(invocation: Invocation, branch: str, limit: int | None) -> None:
    """List the commits of a branch, newest first."""
    commits = invocation.graph().commits(branch)[:limit]
    if invocation.json:
        listed = [each.to_json() for each in commits]
        output.write_json({"branch": branch.strip(), "commits": listed})
        return
    output.write_table(
        ["commit", "version", "time", "actor", "message", "changed"],
        [
            (
                each.id,
                f"v{each.version}",
                output.moment(each.time),
                each.actor,
                each.message,
                ", ".join(each.changed) or None,
            )
            for each in commits
        ],
        whole=["commit", "version"],
    )


@commit.command("show", example="omnigraph commit show 01JCQ8Z5M3V7T9K2X4B6N8D0FH")
@click.argument("commit_id", metavar="ID")
@pass_invocation
def show(invocation: Invocation, commit_id: str) -> None:
    """Show one commit."""
    shown = invocation.graph().commit(commit_id)
    if invocation.json:
        output.write_json(shown.to_json())
        return
    facts = {
        "commit": shown.id,
        "branch": shown.branch,
        "version": f"v{shown.version}",
        "parent": shown.parent,
        "merged parent": shown.merged_parent,
        "time": output.moment(shown.time, "microseconds"),
        "actor": shown.actor,
        "message": shown.message,
        "changed": ", ".join(shown.changed) or None,
    }
    output.write_table(
        ["what", "value"], [(name, value) for name, value in facts.items() if value is not None]
    )
