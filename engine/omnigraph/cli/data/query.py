"""`omnigraph query`, `mutate`, `explain` and `lint`: `.gq` texts from the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, is_given, pass_invocation
from omnigraph.cli.exit_codes import BAD_INPUT
from omnigraph.cli.options import actor_option, at_option, message_option
from omnigraph.cli.query_text import (
    QueryCall,
    file_option,
    query_options,
    source_of,
    target_option,
    text_option,
)
from omnigraph.cli.result_output import FORMATS, format_option, write_affected, write_result

if TYPE_CHECKING:
    from omnigraph.query.lint import LintFinding


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
@format_option
@pass_invocation
@click.pass_context
def query(
    context: click.Context, invocation: Invocation, call: QueryCall, at: str, form: str
) -> None:
    """Run a read and write its rows.

    NAME is a query of the text; without a text it is a stored query. A text that holds one query
    needs no NAME, and may also come through a pipe. --json is --format json.
    """
    if invocation.json and form != "json" and is_given(context, "form"):
        raise click.UsageError(f"--json and --format {form} contradict each other")
    if form == "arrow" and sys.stdout.isatty() and not invocation.json:
        raise click.UsageError("--format arrow is binary: send it to a file or a pipe")
    file = call.source.file
    result = invocation.graph().query(*call.arguments(), at, file=file)
    write_result(result, "json" if invocation.json else form)


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
@message_option
@click.option("--if-commit", metavar="ID", help="Only while this commit is the branch's head.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS[:2]),
    default="table",
    help="How to write the outcome; json is the same as --json.",
)
@pass_invocation
def mutate(
    invocation: Invocation,
    call: QueryCall,
    branch: str,
    actor: str | None,
    message: str | None,
    if_commit: str | None,
    form: str,
) -> None:
    """Run a mutation: one atomic commit, or none if nothing matched."""
    file = call.source.file
    result = invocation.graph().mutate(
        *call.arguments(),
        branch=branch,
        actor=actor,
        message=message,
        if_commit=if_commit,
        file=file,
    )
    write_affected(result, as_json=invocation.json or form == "json")


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
def explain(invocation: Invocation, call: QueryCall, at: str, analyze: bool) -> None:
    """Show how a read is run: scans, look-ups, traversals, order.

    Parameters are needed only with --analyze.
    """
    file = call.source.file
    plan = invocation.graph().explain(*call.arguments(), at, analyze=analyze, file=file)
    output.write_answer(invocation, {"plan": plan}, plan)


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
        raise click.UsageError("give the file as FILE or as --file, not both")
    source = source_of(expression, path or file, None)
    report = invocation.graph().lint(source.text or "", at, file=source.file)
    if invocation.json:
        output.write_json(report.to_json())
    else:
        for finding in report.findings:
            output.write_line(f"{finding.severity}: {_coded(finding)}")
        counts = (
            output.counted(report.queries_processed, "query", "queries"),
            output.counted(report.errors, "error"),
            output.counted(report.warnings, "warning"),
        )
        output.write_line(f"{counts[0]}: {counts[1]}, {counts[2]}.")
    if report.errors:
        context.exit(BAD_INPUT)


def _coded(finding: LintFinding) -> str:
    """The message with its code, which some messages begin with already."""
    has_it = finding.code is None or finding.message.startswith(f"{finding.code}:")
    return finding.message if has_it else f"{finding.code}: {finding.message}"
