"""`omnigraph queries`: queries stored on a branch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.options import actor_option, at_option, branch_option
from omnigraph.cli.query_text import file_source

if TYPE_CHECKING:
    from omnigraph.api.queries import StoredQuery


@group(
    "queries",
    example="""
    omnigraph queries register people.gq
    omnigraph queries list
    omnigraph query friends --params '{"name": "ada"}'
    """,
)
def queries() -> None:
    """Register, list, show and remove queries that are called by name."""


@queries.command("register", example="omnigraph queries register people.gq --branch draft")
@click.argument("file")
@branch_option
@actor_option
@pass_invocation
def register(invocation: Invocation, file: str, branch: str, actor: str | None) -> None:
    """Check the queries of a .gq file and store each under its name.

    All in one commit, or none if one does not fit the schema. FILE may be `-` for stdin.
    """
    source = file_source(file)
    names = invocation.graph().register_queries(
        source.text or "", branch=branch, actor=actor, file=source.file
    )
    document = {"branch": branch, "registered": list(names)}
    output.write_answer(invocation, document, f"Registered {', '.join(names)} on {branch}.")


@queries.command("list", example="omnigraph queries list --at main")
@at_option
@pass_invocation
def list_(invocation: Invocation, at: str) -> None:
    """List stored queries and how they are called."""
    stored = invocation.graph().queries(at)
    document = {"queries": [query.to_json() for query in stored]}
    output.write_answer(invocation, document, partial(write_queries, stored))


def write_queries(stored: Sequence[StoredQuery]) -> None:
    """A table of stored queries, for people."""
    output.write_table(
        ["name", "kind", "parameters", "description"],
        [
            (q.name, q.kind, ", ".join(f"${n}: {t}" for n, t in q.params.items()), q.description)
            for q in stored
        ],
        whole=["name"],
    )


@queries.command("show", example="omnigraph queries show friends")
@click.argument("name")
@at_option
@pass_invocation
def show(invocation: Invocation, name: str, at: str) -> None:
    """Show the text of a stored query."""
    stored = invocation.graph().stored_query(name, at)
    output.write_answer(invocation, stored.to_json(), stored.source)


@queries.command("remove", example="omnigraph queries remove friends")
@click.argument("name")
@branch_option
@actor_option
@pass_invocation
def remove(invocation: Invocation, name: str, branch: str, actor: str | None) -> None:
    """Remove a stored query from a branch.

    Older moments, and branches forked earlier, still have it.
    """
    invocation.graph().remove_query(name, branch=branch, actor=actor)
    document = {"branch": branch, "removed": name}
    output.write_answer(invocation, document, f"Removed {name} from {branch}.")
