"""`omnigraph branch merge`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.options import actor_option, message_option
from omnigraph.errors import MergeConflict

if TYPE_CHECKING:
    from omnigraph.branching.merge.conflicts import OnConflict
    from omnigraph.branching.merge.merge_branches import MergeResult
    from omnigraph.branching.merge.merge_rows import Granularity

CONFLICTS_SHOWN = 50


@command(
    "merge",
    example="""
    omnigraph branch merge draft --plan
    omnigraph branch merge draft --delete-source
    omnigraph branch merge main --into draft --on-conflict theirs
    """,
)
@click.argument("source")
@click.option("--into", metavar="NAME", default="main", help="The branch that changes.")
@click.option("--plan", is_flag=True, help="Say what would happen and change nothing.")
@click.option(
    "--on-conflict",
    type=click.Choice(["fail", "ours", "theirs"]),
    default="fail",
    help="Who is right about entities that both changed: ours is --into, theirs is SOURCE.",
)
@click.option(
    "--granularity",
    type=click.Choice(["entity", "property"]),
    default="entity",
    help="Whether changes to different properties of one entity go together.",
)
@click.option("--delete-source", is_flag=True, help="Delete SOURCE in the same commit.")
@actor_option
@message_option
@pass_invocation
def merge(
    invocation: Invocation,
    source: str,
    into: str,
    plan: bool,
    on_conflict: OnConflict,
    granularity: Granularity,
    delete_source: bool,
    actor: str | None,
    message: str | None,
) -> None:
    """Bring what SOURCE changed to another branch, in one commit."""
    try:
        result = invocation.graph().merge(
            source,
            into,
            on_conflict,
            granularity,
            delete_source,
            plan,
            actor=actor,
            message=message,
        )
    except MergeConflict as error:
        if not invocation.json:
            _show_conflicts(error.conflicts, error.counts)
        raise
    show = _show_plan if plan else _show_merged
    output.write_answer(invocation, result.to_json(), partial(show, result))


def _show_merged(result: MergeResult) -> None:
    if result.commit is None:
        output.write_line(f"{result.target} is up to date with {result.source} already.")
    else:
        text = f"Merged {result.source} into {result.target}"
        if result.outcome == "fast_forward":
            text = f"Fast-forwarded {result.target} to {result.source}"
        output.write_line(f"{text}: {result.commit.id} (v{result.commit.version}).")
    if result.branch_deleted:
        output.write_line(f"Deleted branch {result.source}.")
    elif result.branch_delete_error:
        output.write_line(f"{result.source} was not deleted: {result.branch_delete_error}.")


def _show_plan(result: MergeResult) -> None:
    output.write_line(f"{result.source} into {result.target}: {result.outcome}")
    if result.tables:
        output.write_table(
            ["table", "how", "inserted", "updated", "deleted"],
            [
                (key, each.way, each.inserted, each.updated, each.deleted)
                for key, each in result.tables.items()
            ],
            numbers=["inserted", "updated", "deleted"],
        )
    if result.conflicts:
        _show_conflicts([each.to_json() for each in result.conflicts], result.conflict_counts)
        from omnigraph.branching.merge.conflicts import next_step

        output.write_line(next_step(result.conflict_counts, result.source, result.target))


def _show_conflicts(conflicts: Sequence[Mapping[str, Any]], counts: Mapping[str, int]) -> None:
    shown = conflicts[:CONFLICTS_SHOWN]
    output.write_table(
        ["conflict", "kind", "type", "id", "what"],
        [
            (c["kind"], c["entity_kind"], c["type_name"], c["entity_id"], c["message"])
            for c in shown
        ],
        whole=["conflict"],
    )
    left = sum(counts.values()) - len(shown)
    if left:
        output.write_line(f"… and {output.counted(left, 'more conflict')}; --json shows more.")
