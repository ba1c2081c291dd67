"""`omnigraph queries`: queries stored on a branch."""

from __future__ import annotations

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, group, pass_invocation
from omnigraph.cli.query import MOMENT_HELP, source_text


@group(
    "queries",
    example="""
    omnigraph queries register people.gq
    omnigraph queries list
    omnigraph query friends --params '{"name": "Ada"}'
    """,
)
def queries() -> None:
    """Register, list, show and remove queries that are called by name."""


@queries.command("register", example="omnigraph queries register people.gq --branch main")
@click.argument("file")
@click.option("--branch", metavar="NAME", default="main", show_default=True, help="Where to.")
@click.option("--actor", metavar="WHO", help="Who is written into the commit.")
@pass_invocation
def register(invocation: Invocation, file: str, branch: str, actor: str | None) -> None:
    """Check every query of a file and store it under its name."""
    text = source_text(None, file, None)
    assert text is not None
    names = invocation.graph().register_queries(text, branch=branch, actor=actor)
    if invocation.json:
        output.write_json({"branch": branch, "registered": list(names)})
    else:
        output.write_line(f"Registered {', '.join(names)} on {branch}.")


@queries.command("list", example="omnigraph queries list --at main")
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@pass_invocation
def list_(invocation: Invocation, at: str) -> None:
    """List stored queries with their parameters."""
    found = invocation.graph().queries(at)
    if invocation.json:
        output.write_json({"queries": [query.to_json() for query in found]})
        return
    output.write_table(
        ["name", "kind", "parameters", "description"],
        [
            (q.name, q.kind, ", ".join(f"${n}: {t}" for n, t in q.params.items()), q.description)
            for q in found
        ],
    )


@queries.command("show", example="omnigraph queries show friends")
@click.argument("name")
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@pass_invocation
def show(invocation: Invocation, name: str, at: str) -> None:
    """Show the text of a stored query."""
    found = invocation.graph().stored_query(name, at)
    if invocation.json:
        output.write_json(found.to_json())
    else:
        output.write_line(found.source)


@queries.command("remove", example="omnigraph queries remove friends")
@click.argument("name")
@click.option("--branch", metavar="NAME", default="main", show_default=True, help="Where from.")
@click.option("--actor", metavar="WHO", help="Who is written into the commit.")
@pass_invocation
def remove(invocation: Invocation, name: str, branch: str, actor: str | None) -> None:
    """Remove a stored query from a branch; older moments still have it."""
    invocation.graph().remove_query(name, branch=branch, actor=actor)
    if invocation.json:
        output.write_json({"branch": branch, "removed": name})
    else:
        output.write_line(f"Removed {name} from {branch}.")
