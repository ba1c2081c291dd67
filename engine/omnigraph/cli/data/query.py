"""`omnigraph query`, `mutate`, `explain` and `lint`: `.gq` texts from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.exit_codes import BAD_INPUT
from omnigraph.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.api.queries import MutationResult
    from omnigraph.exec.run.query_result import QueryResult
    from omnigraph.query.lint import Finding

FORMATS = ("table", "json", "jsonl", "csv", "arrow")
LINES_AT_ONCE = 500

at_option = click.option(
    "--at",
    metavar="MOMENT",
    default="main",
    show_default=True,
    help="A branch, branch@commit, branch@v42, branch@time or a commit.",
)
branch_option = click.option(
    "--branch", metavar="NAME", default="main", show_default=True, help="The branch to change."
)
target_option = click.option(
    "--branch",
    "--at",
    "branch",
    metavar="NAME",
    default="main",
    show_default=True,
    help="The branch to change.",
)
text_option = click.option("-e", "--expression", metavar="TEXT", help="The text of the query.")
file_option = click.option("--file", metavar="FILE", help="A .gq file; - is stdin.")
actor_option = click.option("--actor", metavar="NAME", help="Who does it; kept in the commit.")


def query_options(function: Callable[..., None]) -> Callable[..., None]:
    """Where the text of a query comes from, and its parameters."""
    for option in reversed(
        (
            click.argument("name", metavar="[NAME]", required=False),
            text_option,
            file_option,
            click.option("--params", metavar="JSON", default="{}", help="Parameters by name."),
        )
    ):
        function = option(function)
    return function


# --------------------------------------------------------------------------- input


@dataclass(frozen=True)
class Source:
    """A text and the file it came from; no text where a stored query is meant."""

    text: str | None
    file: str | None = None


def source_of(expression: str | None, file: str | None, name: str | None) -> Source:
    """The text that -e, --file or a pipe gives; none when NAME is that of a stored query."""
    if expression is not None and file is not None:
        raise click.UsageError("give -e TEXT or --file FILE, not both")
    if expression is not None:
        return Source(expression)
    if file is not None:
        return file_source(file)
    if name is not None:
        return Source(None)
    if not sys.stdin.isatty():
        piped = file_source("-")
        if piped.text and piped.text.strip():
            return piped
    raise click.UsageError("give -e TEXT, --file FILE, or the NAME of a stored query")


def file_source(file: str) -> Source:
    """The text of a file, or of stdin for `-`."""
    try:
        if file == "-":
            return Source(sys.stdin.buffer.read().decode(), "<stdin>")
        return Source(Path(file).read_text(encoding="utf-8"), file)
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no query file {file!r}", hint="Give the path of a .gq file."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {file!r}: {error}") from error


def parameters(text: str) -> Any:  # noqa: ANN401
    """The parameters of a call, from their JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the parameters are not JSON: {error}", hint="""Write them as '{"name": "Ada"}'."""
        ) from error


# --------------------------------------------------------------------------- query


@command(
    "query",
    example="""
    omnigraph query -e 'query all() { match { $p: Person } return { $p.name, $p.age } }'
    omnigraph query friends --file people.gq --params '{"name": "ada"}' --format csv
    omnigraph query friends --params '{"name": "ada"}' --at main
    cat people.gq | omnigraph query oldest --file - --format jsonl
    """,
)
@query_options
@at_option
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to write rows; arrow is an IPC stream.",
)
@pass_invocation
@click.pass_context
def query(
    context: click.Context,
    invocation: Invocation,
    name: str | None,
    expression: str | None,
    file: str | None,
    params: str,
    at: str,
    form: str,
) -> None:
    """Run a read and write its rows.

    NAME is a query of the text; without a text it is a stored query. A text that holds one query
    needs no NAME, and may also come through a pipe. --json is --format json.
    """
    given = context.get_parameter_source("form")
    if invocation.json and form != "json" and given is not None and given.name == "COMMANDLINE":
        raise click.UsageError(f"--json and --format {form} contradict each other")
    if form == "arrow" and sys.stdout.isatty() and not invocation.json:
        raise click.UsageError("arrow is for programs: send it to a file or a pipe")
    source = source_of(expression, file, name)
    graph = invocation.graph()
    result = graph.query(source.text, name, parameters(params), at, file=source.file)
    write_result(result, "json" if invocation.json else form)


def write_result(result: QueryResult, form: str) -> None:
    """Rows on stdout, in one of the formats; all but the first two stream."""
    match form:
        case "json":
            output.write_json(result.to_json())
        case "table":
            _write_table(result)
        case "jsonl":
            _write_lines(result)
        case "csv":
            _write_csv(result)
        case _:
            _write_arrow(result)


def _write_table(result: QueryResult) -> None:
    import pyarrow as pa

    from omnigraph.exec.run.query_result import json_values

    # By place and not by name: columns of a table may share one.
    rows = [
        [_shown(value) for value in row]
        for batch in result.batches()
        for row in zip(*map(json_values, batch.columns), strict=True)
    ]
    numeric = [f.name for f in result.schema if pa.types.is_integer(f.type)]
    numeric += [f.name for f in result.schema if pa.types.is_floating(f.type)]
    output.write_table(result.schema.names, rows, numbers=numeric)
    output.write_line(output.counted(len(rows), "row"))


def _shown(value: Any) -> str | None:  # noqa: ANN401
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _write_lines(result: QueryResult) -> None:
    dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for rows in result.json_batches():
        # In small parts, so that a reader who has seen enough is noticed soon.
        for start in range(0, len(rows), LINES_AT_ONCE):
            lines = [dump(row) + "\n" for row in rows[start : start + LINES_AT_ONCE]]
            click.echo("".join(lines).encode(), nl=False)


def _write_csv(result: QueryResult) -> None:
    import pyarrow as pa
    import pyarrow.csv

    columns = [_as_csv(field) for field in result.schema]
    schema = pa.schema(list(zip(result.schema.names, columns, strict=True)))
    sink = pa.PythonFile(sys.stdout.buffer, mode="w")
    with pyarrow.csv.CSVWriter(sink, schema) as writer:
        for batch in result.batches():
            arrays = [
                array if array.type == type_ else _texts(array)
                for array, type_ in zip(batch.columns, columns, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    sys.stdout.buffer.flush()


def _as_csv(field: pa.Field) -> pa.DataType:
    """What CSV has no form of its own for is written as in JSON: lists, vectors and times."""
    import pyarrow as pa

    plain = pa.types.is_primitive(field.type) and not pa.types.is_timestamp(field.type)
    return field.type if plain or pa.types.is_string(field.type) else pa.string()


def _texts(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    from omnigraph.exec.run.query_result import json_values

    return pa.array([_shown(value) for value in json_values(array)], pa.string())


def _write_arrow(result: QueryResult) -> None:
    import pyarrow as pa

    sink = pa.PythonFile(sys.stdout.buffer, mode="w")
    with pa.ipc.new_stream(sink, result.schema) as writer:
        for batch in result.batches():
            writer.write_batch(batch)
    sys.stdout.buffer.flush()


# --------------------------------------------------------------------------- mutate


@command(
    "mutate",
    example="""
    omnigraph mutate -e 'query add() { insert Person { name: "eve", age: 25 } }'
    omnigraph mutate grow --file people.gq --params '{"name": "ada", "age": 37}' --branch draft
    omnigraph mutate grow --params '{"name": "ada", "age": 37}' --message "a birthday"
    """,
)
@query_options
@target_option
@actor_option
@click.option("--message", metavar="TEXT", help="Why; kept in the commit.")
@click.option("--if-commit", metavar="ID", help="Only while this commit is the branch's head.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS[:2]),
    default="table",
    show_default=True,
    help="How to write the outcome; json is the same as --json.",
)
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
    form: str,
) -> None:
    """Run a mutation: one atomic commit, or none if nothing matched."""
    source = source_of(expression, file, name)
    result = invocation.graph().mutate(
        source.text,
        name,
        parameters(params),
        branch=branch,
        actor=actor,
        message=message,
        if_commit=if_commit,
        file=source.file,
    )
    write_affected(result, as_json=invocation.json or form == "json")


def write_affected(result: MutationResult, *, as_json: bool) -> None:
    """What a mutation did, on stdout."""
    if as_json:
        output.write_json(result.to_json())
        return
    if result.commit is None:
        output.write_line(f"Nothing matched; {result.branch} is as it was.")
        return
    nodes = output.counted(result.affected_nodes, "node")
    edges = output.counted(result.affected_edges, "edge")
    where = f"in commit {result.commit.id} (v{result.commit.version})"
    output.write_line(f"Affected {nodes} and {edges} of {result.branch} {where}.")


# --------------------------------------------------------------------------- explain, lint


@command(
    "explain",
    example="""
    omnigraph explain -e 'query q() { match { $p: Person  $p knows $f } return { $f.name } }'
    omnigraph explain friends --file people.gq --params '{"name": "ada"}' --analyze
    """,
)
@query_options
@at_option
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
    """Show how a read is run: scans, look-ups, traversals, order.

    Parameters are needed only with --analyze.
    """
    source = source_of(expression, file, name)
    shown = invocation.graph().explain(
        source.text, name, parameters(params), at, analyze=analyze, file=source.file
    )
    if invocation.json:
        output.write_json({"plan": shown})
    else:
        output.write_line(shown)


@command("lint", example="omnigraph lint people.gq")
@click.argument("path", metavar="[FILE]", required=False)
@text_option
@file_option
@at_option
@pass_invocation
@click.pass_context
def lint(
    context: click.Context,
    invocation: Invocation,
    path: str | None,
    expression: str | None,
    file: str | None,
    at: str,
) -> None:
    """Check every query of a .gq file against the schema.

    FILE may be `-` for stdin. Exits with 2 when it finds an error; warnings alone are fine.
    """
    if path is not None and file is not None:
        raise click.UsageError("give the file once")
    source = source_of(expression, path or file, None)
    report = invocation.graph().lint(source.text or "", at, file=source.file)
    if invocation.json:
        output.write_json(report.to_json())
    else:
        for found in report.findings:
            output.write_line(f"{found.severity}: {_coded(found)}")
        counts = (
            output.counted(report.queries_processed, "query", "queries"),
            output.counted(report.errors, "error"),
            output.counted(report.warnings, "warning"),
        )
        output.write_line(f"{counts[0]}: {counts[1]}, {counts[2]}.")
    if report.errors:
        context.exit(BAD_INPUT)


def _coded(found: Finding) -> str:
    """The message with its code, which some messages begin with already."""
    has_it = found.code is None or found.message.startswith(f"{found.code}:")
    return found.message if has_it else f"{found.code}: {found.message}"
