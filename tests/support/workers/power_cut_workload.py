"""Writes to a graph and notes each acknowledgement in a file: what a power cut may interrupt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import omnigraph
from omnigraph.storage.core import file_sync
from omnigraph.storage.manifest import manifest
from support.social import SOCIAL, edge, persons

WITHOUT = "OMNIGRAPH_WITHOUT"
KEPT = 2
"""So few that the versions of a short run are trimmed."""


def main(root: str, notes: str) -> None:
    """Each line noted says what a reader must find from now on: `Person <name> <age>`."""
    manifest.KEPT_VERSIONS = KEPT
    _leave_out(os.environ.get(WITHOUT, ""))
    noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(line: str) -> None:
        os.write(noted, f"{line}\n".encode())

    graph = omnigraph.init(root, SOCIAL)
    note("init")
    for age in range(1, 13):
        names = [f"p{age:02}", "replaced"]
        with graph.transaction() as txn:
            txn.upsert("Person", persons(names, age=age))
            if age > 2:
                txn.insert("Knows", [edge(f"p{age:02}", "replaced")])
        for name in names:
            note(f"Person {name} {age}")
    graph.optimize()
    graph.collect(keep=1)
    with graph.transaction() as txn:
        txn.upsert("Person", persons(["last"], age=99))
    note("Person last 99")


def _leave_out(part: str) -> None:
    """Sync all but one kind of path, to show that it is needed."""
    real = file_sync._sync
    left_out: dict[str, Callable[[Path, bool], bool]] = {
        "files": lambda path, _: path.suffix in (".lance", ".arrow", ".bin"),
        "version": lambda path, _: ".manifest-" in path.name,
        "name": lambda path, is_folder: (
            is_folder and path.parts[-2:] == ("__manifest", "_versions")
        ),
    }
    if part in left_out:
        file_sync._sync = lambda asked: None if left_out[part](*asked) else real(asked)


if __name__ == "__main__":
    main(*sys.argv[1:])
