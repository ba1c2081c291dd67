"""`omnigraph branch diff` and `omnigraph changes`."""

from __future__ import annotations

from typing import Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.versioning.change_output import (
    filter_options,
    for_programs,
    write_changes,
    write_stats,
)


@command(
    "diff",
    example="""
    omnigraph branch diff main draft
    omnigraph branch diff main@v1 main --type Person --op update
    omnigraph branch diff main draft --stats
    """,
)
@click.argument("from_", metavar="FROM")
@click.argument("to", metavar="TO")
@filter_options("node", "edge", "table")
@click.option("--stats", is_flag=True, help="Only count.")
@pass_invocation
def diff(
    invocation: Invocation,
    from_: str,
    to: str,
    filters: dict[str, Any],
    stats: bool,
) -> None:
    """Show what differs between two moments, entity by entity.

    FROM and TO are branches, branch@commit, branch@v42, branch@time or commits. On a terminal it
    is a table; through a pipe, or with --json, one JSON object per entity and line.
    """
    from omnigraph.branching.compare.change_json_lines import diff_lines

    difference = invocation.graph().diff(from_, to, **filters)
    if stats:
        facts = {"from": difference.before.commit, "to": difference.after.commit}
        write_stats(invocation, difference.stats(), facts)
    elif for_programs(invocation):
        batches = difference.batches()
        output.write_lines(line for batch in batches for line in diff_lines(batch).to_pylist())
    else:
        write_changes((e.op, e.type_name, e.id, e.before, e.after) for e in difference)


@command(
    "changes",
    example="""
    omnigraph changes 01JCQ8Z5M3V7T9K2X4B6N8D0FH
    omnigraph changes 01JCQ8Z5M3V7T9K2X4B6N8D0FH --stats --json
    """,
)
@click.argument("commit_id", metavar="COMMIT")
@click.option("--stats", is_flag=True, help="Only count.")
@pass_invocation
def changes(invocation: Invocation, commit_id: str, stats: bool) -> None:
    """Show what one commit changed, against its first parent.

    On a terminal it is a table; through a pipe, or with --json, a line {"cause": …} and then one
    JSON object per change and line.
    """
    import json

    block = invocation.graph().changes(commit_id)
    cause = block.cause.to_json()
    if stats:
        write_stats(invocation, block.stats(), cause)
    elif for_programs(invocation):
        output.write_lines([json.dumps({"cause": cause}, ensure_ascii=False)])
        output.write_lines(block.texts())
    else:
        output.write_line(f"commit {block.cause.graph_commit_id}")
        write_changes((c.op, c.type_name, c.id, c.before, c.after) for c in block)
