"""`omnigraph export`."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.progress import progress


@command(
    "export",
    example="""
    omnigraph export > everything.ndjson
    omnigraph export --type Person --at main@v2 -o people.ndjson
    omnigraph export | gzip > everything.ndjson.gz
    """,
)
@click.option(
    "--at",
    metavar="MOMENT",
    default="main",
    show_default=True,
    help="A branch, branch@commit, branch@v42, branch@time or a commit.",
)
@click.option(
    "--type",
    "types",
    metavar="TYPE",
    multiple=True,
    help="Only this type; repeat it for several.  [default: all]",
)
@click.option(
    "-o", "--output", "file", metavar="FILE", default="-", help="Where to.  [default: stdout]"
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
    if invocation.json:
        output.write_json({"file": file, "entities": entities})
    else:
        output.write_line(f"Exported {output.counted(entities, 'entity', 'entities')} to {file}.")
