"""`omnigraph load`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.data.chained_input import ChainedFiles
from omnigraph.cli.options import actor_option, message_option
from omnigraph.cli.progress import Unit, progress
from omnigraph.errors import LoadError

if TYPE_CHECKING:
    from omnigraph.loading.load import LoadResult

LoadInput = str | Path | BinaryIO | ChainedFiles | dict[str, str]


@command(
    "load",
    example="""
    omnigraph load people.ndjson
    cat people.ndjson | omnigraph load --mode append
    omnigraph load --type Person people.parquet
    omnigraph load --file Person=people.parquet --file Knows=knows.csv
    omnigraph load people.ndjson --branch draft --from main --message "try it"
    """,
)
@click.argument("files", metavar="[FILES]...", nargs=-1)
@click.option(
    "--mode",
    type=click.Choice(["merge", "append", "overwrite"]),
    default="merge",
    help="merge replaces entities that exist, append refuses them, overwrite replaces all "
    "entities of the types in the input.",
)
@click.option("--branch", metavar="NAME", default="main", help="Where to.")
@click.option("--from", "from_", metavar="BASE", help="Create a missing branch here first.")
@click.option("--type", "type_", metavar="TYPE", help="The type of the rows of one other file.")
@click.option(
    "--file",
    "typed_files",
    metavar="TYPE=FILE",
    multiple=True,
    help="A Parquet, CSV or Arrow file and its type; repeat it for several in one commit.",
)
@actor_option
@message_option
@pass_invocation
def load(
    invocation: Invocation,
    files: tuple[str, ...],
    mode: Literal["merge", "append", "overwrite"],
    branch: str,
    from_: str | None,
    type_: str | None,
    typed_files: tuple[str, ...],
    actor: str | None,
    message: str | None,
) -> None:
    """Load entities in one atomic commit.

    FILES are NDJSON; without any, or as `-`, it is read from stdin. Other formats (Parquet, CSV,
    Arrow) hold one type each: name it with --type or --file. All files go into the same commit.
    """
    source = _source(files, type_, typed_files)
    total, unit = _amount(source, typed=bool(type_ or typed_files))
    graph = invocation.graph()
    with progress("loading", total=total, unit=unit) as on_progress:
        try:
            result = graph.load(
                source,
                mode=mode,
                branch=branch,
                from_=from_,
                type=type_,
                actor=actor,
                message=message,
                on_progress=on_progress,
            )
        except LoadError as error:
            if isinstance(source, ChainedFiles):
                raise source.located(error) from error
            raise
    output.write_answer(invocation, result.to_json(), partial(_show, result))


def _source(files: Sequence[str], type_: str | None, typed_files: Sequence[str]) -> LoadInput:
    if typed_files:
        if files or type_:
            raise click.UsageError(
                "--file excludes FILES and --type: give every file as --file TYPE=FILE"
            )
        return _by_type(typed_files)
    if type_:
        if len(files) != 1 or files[0] == "-":
            raise click.UsageError(
                "--type takes exactly one file; for several give each as --file TYPE=FILE"
            )
        return files[0]
    if not files and sys.stdin.isatty():
        raise click.UsageError("no FILES are given and nothing is piped to stdin")
    if not files or files == ("-",):
        return sys.stdin.buffer
    if "-" in files:
        raise click.UsageError("stdin (-) cannot be combined with other files")
    return files[0] if len(files) == 1 else ChainedFiles([Path(file) for file in files])


def _by_type(typed_files: Sequence[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for given in typed_files:
        name, _, file = given.partition("=")
        if not (name and file):
            raise click.UsageError(f"--file takes TYPE=FILE, not {given!r}")
        if name in files:
            raise click.UsageError(f"--file names the type {name!r} twice")
        files[name] = file
    return files


def _amount(source: LoadInput, *, typed: bool) -> tuple[int | None, Unit]:
    """How much there is to read, where that is known, and in what it is counted."""
    if typed:
        return None, "rows"
    if isinstance(source, ChainedFiles):
        return source.size, "bytes"
    if isinstance(source, str) and os.path.isfile(source):
        return os.path.getsize(source), "bytes"
    return None, "bytes"


def _show(result: LoadResult) -> None:
    created = f" (created from {result.base_branch})" if result.branch_created else ""
    output.write_line(
        f"Loaded {output.counted(result.total_entities, 'entity', 'entities')} "
        f"into {result.branch}{created} "
        f"in commit {result.commit.id} (v{result.commit.version})."
    )
    counts = [("node", result.nodes), ("edge", result.edges)]
    rows = [(name, kind, f"{n:,}") for kind, each in counts for name, n in sorted(each.items())]
    if rows:
        output.write_table(["type", "kind", "entities"], rows, numbers=["entities"])
