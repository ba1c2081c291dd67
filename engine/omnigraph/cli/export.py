"""`omnigraph export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.cli.progress import Advance, progress
from omnigraph.errors import InvalidInput


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
    with (
        progress("exporting", unit="bytes", hidden=hidden) as on_progress,
        _stdout() if to_stdout else _complete(Path(file)) as out,
    ):
        entities = graph.export(_Counted(out, on_progress), at=at, types=types or None)
    if to_stdout:
        return
    if invocation.json:
        output.write_json({"file": file, "entities": entities})
    else:
        output.write_line(f"Exported {output.counted(entities, 'entity', 'entities')} to {file}.")


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _complete(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when the block has succeeded, and leaves nothing when not."""
    try:
        if path.exists() and not path.is_file():  # a device or a named pipe cannot be replaced
            with path.open("wb") as device:
                yield device
            return
        part = NamedTemporaryFile(  # noqa: SIM115 - it outlives the block under another name
            dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part", delete=False
        )
    except OSError as error:
        raise InvalidInput(
            f"cannot write {str(path)!r}: {error.strerror}", hint="Choose another file."
        ) from error
    try:
        with part:
            yield part  # type: ignore[misc]
        os.chmod(part.name, 0o666 & ~_umask())
        os.replace(part.name, path)
    except BaseException:
        os.unlink(part.name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class _Counted:
    """A binary file that tells how much went through it."""

    def __init__(self, out: BinaryIO, on_progress: Advance | None) -> None:
        self._out = out
        self._on_progress = on_progress
        self._written = 0

    def write(self, data: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:  # without buffers (PYTHONUNBUFFERED) a pipe takes what it has room for
            rest = rest[self._out.write(rest) :]
        self._written += size
        if self._on_progress is not None:
            self._on_progress(self._written)
        return size

    def flush(self) -> None:
        self._out.flush()
