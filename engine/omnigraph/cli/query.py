"""`omnigraph query`, `mutate`, `explain` and `lint`: `.gq` texts from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.exit_codes import BAD_INPUT
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph.exec.result import QueryResult

FORMATS = ("table", "json", "jsonl", "csv", "arrow")
MOMENT_HELP = "A branch, branch@commit, branch@v42, branch@time or a commit."

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def query_options(function: Callable[..., None]) -> Callable[..., None]:
    """Where the text of a query comes from, and its parameters."""
    for option in reversed(
        (
            click.argument("name", metavar="[NAME]", required=False),
            click.option("-e", "--expression", metavar="TEXT", help="The text of the query."),
            click.option("--file", metavar="FILE", help="A .gq file; - is stdin."),
            click.option("--params", metavar="JSON", default="{}", help="Parameters, as JSON."),
        )
    ):
        function = option(function)
    return function


def source_text(expression: str | None, file: str | None, name: str | None) -> str | None:
    """The text of a query; none when NAME alone says which stored query to run."""
    if expression is not None and file is not None:
        raise click.UsageError("give -e TEXT or --file FILE, not both")
    if expression is not None:
        return expression
    if file == "-":
        return sys.stdin.read()
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"cannot read {file!r}: {error}") from error
    if name is None:
        raise click.UsageError("give -e TEXT, --file FILE, or the NAME of a stored query")
    return None


def parameters(text: str) -> Any:  # noqa: ANN401
    """The parameters of a call, from their JSON text."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f"--params is not JSON: {error}", hint="""Write it as '{"name": "Ada"}'."""
        ) from error


@command(
    "query",
    example="""
    omnigraph query -e 'query q() { match { $p: Person } return { $p.name } order { $p.name } }'
    omnigraph query friends --file people.gq --params '{"name": "Ada"}' --format csv
    omnigraph query friends --params '{"name": "Ada"}' --at main@v2
    """,
)
@query_options
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to write rows; arrow is an IPC stream.",
)
@pass_invocation
def query(
    invocation: Invocation,
    name: str | None,
    expression: str | None,
    file: str | None,
    params: str,
    at: str,
    form: str,
) -> None:
    """Run a read and write its rows.

    NAME is a query of the text, or a stored query when no text is given.
    """
    text = source_text(expression, file, name)
    result = invocation.graph().query(text, name, parameters(params), at)
    write_result(result, "json" if invocation.json else form)


def write_result(result: QueryResult, form: str) -> None:
    """Rows on stdout, in one of the formats; all but the first two stream."""
    if form == "json":
        output.write_json(result.to_json())
    elif form == "table":
        rows = result.rows()
        names = result.schema.names
        output.write_table(names, [[_shown(row[name]) for name in names] for row in rows])
        output.write_line(f"{output.counted(len(rows), 'row')}")
    elif form == "jsonl":
        for batch in result.json_batches():
            lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in batch)
            click.echo("".join(f"{line}\n" for line in lines).encode(), nl=False)
    else:
        _write_binary(result, form)


def _write_binary(result: QueryResult, form: str) -> None:
    import pyarrow as pa
    import pyarrow.csv

    reader = result.reader()
    sink = pa.PythonFile(sys.stdout.buffer, mode="w")
    writer = (
        pa.ipc.new_stream(sink, reader.schema)
        if form == "arrow"
        else pyarrow.csv.CSVWriter(sink, reader.schema)
    )
    with writer:
        for batch in reader:
            writer.write_batch(batch)
    sys.stdout.buffer.flush()


def _shown(value: Any) -> Any:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


@command(
    "mutate",
    example="""
    omnigraph mutate -e 'query add() { insert Person { name: "Eve", age: 25 } }'
    omnigraph mutate rename --file people.gq --params '{"age": 26}' --branch draft
    """,
)
@query_options
@click.option("--branch", metavar="NAME", default="main", show_default=True, help="Where to write.")
@click.option("--actor", metavar="WHO", help="Who is written into the commit.")
@click.option("--message", metavar="TEXT", help="Why, for the commit.")
@click.option("--if-commit", metavar="ID", help="Only if this commit is the head of the branch.")
@pass_invocation
def mutate(
    invocation: Invocation,
    name: str | None,
    expression: str | None,
    file: str | None,
    params: str,
    branch: str,
    actor: str | None,
    message: str | None,
    if_commit: str | None,
) -> None:
    """Run a mutation: one atomic commit, or none if nothing matched."""
    text = source_text(expression, file, name)
    result = invocation.graph().mutate(
        text,
        name,
        parameters(params),
        branch=branch,
        actor=actor,
        message=message,
        if_commit=if_commit,
    )
    if invocation.json:
        output.write_json(result.to_json())
        return
    nodes = output.counted(result.affected_nodes, "node")
    edges = output.counted(result.affected_edges, "edge")
    where = (
        f"in commit {result.commit.id} (v{result.commit.version})"
        if result.commit
        else "and made no commit"
    )
    output.write_line(f"Affected {nodes} and {edges} {where}.")


@command(
    "explain",
    example="""
    omnigraph explain -e 'query q() { match { $p: Person  $p knows $q } return { $q.name } }'
    omnigraph explain friends --file people.gq --params '{"name": "Ada"}' --analyze
    """,
)
@query_options
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@click.option("--analyze", is_flag=True, help="Run it, and show times and row counts.")
@pass_invocation
def explain(
    invocation: Invocation,
    name: str | None,
    expression: str | None,
    file: str | None,
    params: str,
    at: str,
    analyze: bool,
) -> None:
    """Show how a read is run: scans, push-downs, traversals, order."""
    text = source_text(expression, file, name)
    shown = invocation.graph().explain(text, name, parameters(params), at, analyze=analyze)
    if invocation.json:
        output.write_json({"plan": shown})
    else:
        output.write_line(shown)


@command("lint", example="omnigraph lint people.gq")
@click.argument("file")
@click.option("--at", metavar="MOMENT", default="main", show_default=True, help=MOMENT_HELP)
@pass_invocation
@click.pass_context
def lint(context: click.Context, invocation: Invocation, file: str, at: str) -> None:
    """Check a .gq file against the schema.

    Exits with 2 when it finds an error; warnings alone are fine.
    """
    text = source_text(None, file, None)
    assert text is not None
    report = invocation.graph().lint(text, at)
    if invocation.json:
        output.write_json(report.to_json())
    else:
        output.write_table(
            ["severity", "code", "message"],
            [(f.severity, f.code, f.message) for f in report.findings],
        )
        output.write_line(
            f"{output.counted(report.errors, 'error')}, "
            f"{output.counted(report.warnings, 'warning')}."
        )
    if report.errors:
        context.exit(BAD_INPUT)
