"""`omnigraph export`."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.options import at_option
from omnigraph.cli.progress import progress


@command(
    "export",
    example="""
    omnigraph export > everything.ndjson
    omnigraph export --type Person --at main@v2 -o people.ndjson
    omnigraph export | gzip > everything.ndjson.gz
    """,
)
@at_option
@click.option(
    "--type",
    "types",
    metavar="TYPE",
    multiple=True,
    help="Only this type; repeat it for several.  [default: all]",
)
@click.option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    default="-",
    show_default=False,
    help="Where to.  [default: stdout]",
)
@pass_invocation
def export(invocation: Invocation, at: str, types: tuple[str, ...], file: str) -> None:
    """Write entities as NDJSON, which load reads back.

    FILE appears only when it is complete. Without it the NDJSON is all that goes to stdout, also
    with --json, which then changes errors only.
    """
    graph = invocation.graph()
    to_stdout = file == "-"
    hidden = to_stdout and sys.stdout.isatty()
    with progress("exporting", unit="rows", hidden=hidden) as on_progress:
        out = cast(BinaryIO, output.Stdout()) if to_stdout else file
        entities = graph.export(out, at=at, types=types or None, on_progress=on_progress)
    if to_stdout:
        sys.stdout.buffer.flush()
        return
    counted = output.counted(entities, "entity", "entities")
    document = {"file": file, "entities": entities}
    output.write_answer(invocation, document, f"Exported {counted} to {file}.")
