"""`omnigraph feed`."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.versioning.change_output import filter_options, for_programs, write_changes

if TYPE_CHECKING:
    from omnigraph.branching.changelog.feed_page import Page


@command(
    "feed",
    example="""
    omnigraph feed --start beginning
    omnigraph feed --branch draft --start after:01JCQ8Z5M3V7T9K2X4B6N8D0FH --type Person
    omnigraph feed --baseline > baseline.ndjson
    """,
)
@click.option("--branch", metavar="NAME", default="main", help="Whose commits.")
@click.option("--start", metavar="PLACE", help="now, beginning or after:COMMIT.  [default: now]")
@click.option("--cursor", metavar="CURSOR", help="Go on from here, as an earlier run said.")
@click.option("--page-token", metavar="TOKEN", help="Go on inside a block, as an earlier run said.")
@filter_options("node", "edge")
@click.option("--max-changes", metavar="N", type=int, help="Changes per page.  [default: 1000]")
@click.option("--max-bytes", metavar="N", type=int, help="Bytes per page.  [default: 4 MiB]")
@click.option("--max-commits", metavar="N", type=int, help="Commits per page.  [default: 128]")
@click.option("--follow", is_flag=True, help="Wait for more until interrupted.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0.01),
    default=1.0,
    help="How often --follow looks.",
)
@click.option("--baseline", is_flag=True, help="Write every entity, then where the feed goes on.")
@pass_invocation
def feed(
    invocation: Invocation,
    branch: str,
    start: str | None,
    cursor: str | None,
    page_token: str | None,
    filters: dict[str, Any],
    max_changes: int | None,
    max_bytes: int | None,
    max_commits: int | None,
    follow: bool,
    interval: float,
    baseline: bool,
) -> None:
    """Show the changes of a branch, commit by commit, up to its head.

    On a terminal these are tables; through a pipe, or with --json, every page is one JSON object
    per block and line, then a line with the cursor (or page token) to go on from.
    """
    graph = invocation.graph()
    if baseline:
        if start or cursor or page_token or follow:
            raise click.UsageError(
                "--baseline cannot be combined with --start, --cursor, --page-token or --follow"
            )
        graph.baseline(branch, cast(BinaryIO, output.Stdout()), **filters)
        sys.stdout.buffer.flush()
        return
    request = filters | {
        "max_changes": max_changes,
        "max_bytes": max_bytes,
        "max_commits": max_commits,
    }
    page = graph.feed(branch, start=start, cursor=cursor, page_token=page_token, **request)
    _write(invocation, page, always=True)
    while not page.caught_up or follow:
        if page.caught_up:
            time.sleep(interval)
        page = graph.feed(branch, cursor=page.cursor, page_token=page.next_page_token, **request)
        _write(invocation, page, always=False)


def _write(invocation: Invocation, page: Page, *, always: bool) -> None:
    """One page; one that brings nothing is shown only when it was asked for."""
    if not page.blocks and not always:
        return
    if for_programs(invocation):
        body = page.to_json()
        blocks = body.pop("blocks")
        lines = (json.dumps(line, ensure_ascii=False) for line in (*blocks, body))
        output.write_lines(lines)
        return
    for block in page.blocks:
        cause = block.cause
        by = f" by {cause.actor_id}" if cause.actor_id else ""
        output.write_line(f"commit {cause.graph_commit_id}{by}")
        write_changes((c.op, c.type_name, c.id, c.before, c.after) for c in block.changes)
    if page.cursor:
        output.write_line(f"cursor {page.cursor}")
