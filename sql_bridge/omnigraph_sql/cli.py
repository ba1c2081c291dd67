"""`omnigraph sql`, and `\\sql` in the shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.options import actor_option
from omnigraph.cli.query_text import file_source, parameters
from omnigraph.cli.result_output import format_option, write_result

if TYPE_CHECKING:
    from omnigraph import Graph, QueryResult
    from omnigraph_sql.resolve.parameter_types import Params


@command(
    "sql",
    example="""
    omnigraph sql 'SELECT name, age FROM Person ORDER BY age DESC' --store social.omni
    omnigraph sql 'SELECT * FROM Person WHERE name = :name' --params '{"name": "ada"}'
    omnigraph sql 'SELECT count(*) FROM "main@v2".nodes."Person"' --format csv
    omnigraph sql --file report.sql --branch hiring --dialect snowflake
    """,
)
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--file", metavar="FILE", help="A .sql file; - is stdin.")
@click.option(
    "--branch",
    metavar="NAME",
    default="main",
    show_default=True,
    help="The current catalog: a branch, or a moment to read.",
)
@click.option("--dialect", metavar="NAME", default="postgres", show_default=True, help="The SQL.")
@click.option("--params", metavar="JSON", help="Parameters: a list, or an object by name.")
@format_option
@actor_option
@pass_invocation
def sql(
    invocation: Invocation,
    text: str | None,
    file: str | None,
    branch: str,
    dialect: str,
    params: str | None,
    form: str,
    actor: str | None,
) -> None:
    """Run SQL: its rows, or how many rows it changed.

    Every branch is a catalog, nodes and edges are schemas. Several statements are separated by
    semicolons. --json is --format json.
    """
    if (text is None) == (file is None):
        raise click.UsageError("give the TEXT or --file FILE")
    if form == "arrow" and sys.stdout.isatty() and not invocation.json:
        raise click.UsageError("arrow is for programs: send it to a file or a pipe")
    source = text if text is not None else file_source(file or "").text
    given = None if params is None else parameters(params)
    result = run_text(invocation.graph(), branch, source or "", given, dialect, actor)
    if isinstance(result, int):
        if invocation.json or form == "json":
            output.write_json({"affected": result})
        else:
            output.write_line(f"{output.counted(result, 'row')} affected.")
    else:
        write_result(result, "json" if invocation.json else form)


def run_text(
    graph: Graph,
    at: str,
    text: str,
    params: Params = None,
    dialect: str = "postgres",
    user: str | None = None,
) -> QueryResult | int:
    """Run a text at a branch or moment: its rows, as the commands of the engine write them."""
    from omnigraph import QueryResult
    from omnigraph_sql.session.connection import connect

    connection = connect(graph, at, user, dialect=dialect)
    result = connection.execute(text, params)
    if isinstance(result, int):
        return result
    snapshot = graph.snapshot(connection.catalog)
    reader = result
    return QueryResult(reader.schema, snapshot.commit, "sql", snapshot.branch, lambda: iter(reader))
