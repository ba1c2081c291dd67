"""`omnigraph init`."""

from __future__ import annotations

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.data.schema import schema_source


@command(
    "init",
    example="""
    omnigraph init social.pg social.omni
    omnigraph init social.pg s3://bucket/social
    """,
)
@click.argument("schema")
@click.argument("uri", required=False)
@click.option("--actor", metavar="NAME", help="Who creates it; kept in its first commit.")
@pass_invocation
def init(invocation: Invocation, schema: str, uri: str | None, actor: str | None) -> None:
    """Create a graph at URI with the schema of a .pg file.

    Without URI the graph is created where --store says. SCHEMA may be `-` for stdin.
    """
    import omnigraph

    graph = omnigraph.init(
        uri or invocation.uri(),
        schema_source(schema),
        actor=actor,
        durability=invocation.durability,
    )
    snapshot = graph.snapshot()
    nodes, edges = (
        [type_.name for type_ in snapshot.types() if type_.kind == kind]
        for kind in ("node", "edge")
    )
    output.write_answer(
        invocation,
        {"uri": graph.uri, "graph_commit_id": snapshot.commit, "nodes": nodes, "edges": edges},
        f"Created {graph.uri} with {len(nodes)} node and {len(edges)} edge types.",
    )
