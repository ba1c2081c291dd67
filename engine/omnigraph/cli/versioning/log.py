"""`omnigraph log`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.storage.core.model import Commit

Names = Mapping[str, Sequence[str]]
"""The branches and tags at each commit."""


@command(
    "log",
    example="""
    omnigraph log
    omnigraph log social.omni --graph
    omnigraph log --branch draft -n 5 --json
    """,
)
@click.argument("graph_uri", metavar="[GRAPH]", required=False)
@click.option(
    "--branch",
    metavar="NAME",
    help="Whose history.  [default: main; with --graph all branches and tags]",
)
@click.option("--graph", "drawn", is_flag=True, help="Draw how branches part and merge.")
@click.option(
    "-n",
    "limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=20,
    help="At most this many commits.",
)
@pass_invocation
def log(
    invocation: Invocation, graph_uri: str | None, branch: str | None, drawn: bool, limit: int
) -> None:
    """Show the history, newest first, with branches and tags.

    GRAPH is the same as --store.
    """
    invocation.store = graph_uri or invocation.store
    graph = invocation.graph()
    commits = graph.history(branch) if drawn else graph.commits(branch or "main")
    names = _names(graph)
    if invocation.json:
        listed = [
            each.to_json() | {"names": list(names.get(each.id, ()))} for each in commits[:limit]
        ]
        output.write_json({"commits": listed, "more": len(commits) > limit})
        return
    if drawn:
        _draw(commits, names, limit)
    else:
        for each in commits[:limit]:
            output.write_line(_described(each, names))
    if len(commits) > limit:
        output.write_line(f"{limit:,} of {len(commits):,}; see more with -n.")


def _names(graph: Graph) -> Names:
    names: dict[str, list[str]] = {}
    for branch in graph.branches():
        names.setdefault(branch.commit, []).append(branch.name)
    for tag in graph.tags.list():
        names.setdefault(tag.commit, []).append(f"tag: {tag.name}")
    return names


def _described(commit: Commit, names: Names) -> str:
    """A commit on one line."""
    at = names.get(commit.id, ())
    message = (commit.message or "").strip().splitlines()
    parts = [
        commit.id,
        f"v{commit.version}",
        f"({', '.join(at)})" if at else "",
        output.moment(commit.time),
        commit.actor or "",
        message[0] if message else "",
    ]
    return "  ".join(part for part in parts if part)


def _draw(commits: Sequence[Commit], names: Names, limit: int) -> None:
    from omnigraph.cli.versioning.commit_graph import draw, plain

    lines = draw(commits)
    shown = 0
    width = max((len(line.drawn) for line in lines if line.commit), default=0)
    unicode = _has_unicode()
    for line in lines:
        shown += line.commit is not None
        if shown > limit:
            break
        text = line.drawn if unicode else plain(line.drawn)
        label = _described(line.commit, names) if line.commit else ""
        output.write_line(f"{text.ljust(width)}  {label}".rstrip() if label else text)


def _has_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
