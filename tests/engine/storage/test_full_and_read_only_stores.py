"""A disk without room and a place one may not write to: typed errors, and nothing lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from support.graphs import boats, contents, ids, ndjson, node

NOBODY = 65534

# Reports, for each action, the class of the error and whether the family is ours, as JSON lines.
ATTEMPTS = """
import json, os, resource, signal, sys
root, limit, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
import omnigraph
from omnigraph.errors import OmniGraphError
omnigraph.open(root).schema().plan("node Other {}")  # read the grammar while that is allowed
if uid:
    os.setgid(uid)
    os.setuid(uid)
def attempt(name, action):
    try:
        action()
        print(json.dumps([name, None, None, None]))
    except OmniGraphError as error:
        print(json.dumps([name, type(error).__name__, error.hint, error.message]))
graph = omnigraph.open(root)
big = b"".join(
    json.dumps({"type": "Boat", "data": {"name": f"n{n}", "flag": os.urandom(200).hex()}}).encode()
    + b"\\n" for n in range(200)
)
attempt("read", lambda: graph.snapshot().scan("Boat").read_all())
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
attempt("load", lambda: graph.load(big))
attempt("branch", lambda: graph.create_branch("new"))
attempt("delete", lambda: graph.delete_branch("wip"))
attempt("schema", lambda: graph.apply_schema("node Other {}"))
attempt("optimize", lambda: graph.optimize())
attempt("init", lambda: omnigraph.init(root + "-second/graph", "node N { n: String @key }"))
attempt("again", lambda: graph.snapshot().scan("Boat").read_all())
"""


def attempts(
    root: Path, *, limit: int = 0, uid: int = 0
) -> dict[str, tuple[str | None, str | None, str | None]]:
    """What a process with less room or fewer rights gets for each kind of call."""
    done = subprocess.run(
        [sys.executable, "-c", ATTEMPTS, str(root), str(limit), str(uid)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = (json.loads(line) for line in done.stdout.splitlines())
    return {name: (error, hint, message) for name, error, hint, message in lines}


@pytest.fixture
def place() -> Iterator[Path]:
    """A graph of boats with a branch, in a folder that others may enter."""
    folder = Path(tempfile.mkdtemp(prefix="store"))
    folder.chmod(0o755)
    boats(str(folder / "graph")).create_branch("wip")
    yield folder / "graph"
    shutil.rmtree(folder)


def expect_unharmed(root: Path, before: object) -> None:
    graph = omnigraph.open(root)
    assert contents(graph) == before
    assert [b.name for b in graph.branches()] == ["main", "wip"]
    assert graph.verify(rules=True).ok
    graph.load(ndjson(node("Boat", name="Dot")))
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]
    graph.collect()
    assert graph.verify(rules=True).ok


def test_a_store_that_may_not_be_written_is_read_and_refused(place: Path) -> None:
    before = contents(omnigraph.open(place))
    folders = [place.parent, place, *(p for p in place.rglob("*") if p.is_dir())]
    modes = {folder: folder.stat().st_mode for folder in folders}
    for folder in folders:
        folder.chmod(0o555)
    try:
        outcome = attempts(place, uid=NOBODY if os.getuid() == 0 else 0)
    finally:
        for folder, mode in modes.items():
            folder.chmod(mode)
    assert outcome.pop("read")[0] is outcome.pop("again")[0] is None
    for name, (error, hint, message) in outcome.items():
        assert error == "StorageError", (name, error, message)
        assert hint, name
    expect_unharmed(place, before)


@pytest.mark.parametrize("closed", ["", "__manifest", "__manifest/_versions"])
def test_a_store_that_may_not_be_read_says_so(place: Path, closed: str) -> None:
    (place / closed).chmod(0o000)
    code = (
        "import os, sys\nfrom omnigraph.api.graph import open\n"
        "from omnigraph.errors import StorageError\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: open(sys.argv[1])\n"
        "except StorageError as error: print(error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    (place / closed).chmod(0o755)
    assert (done.returncode, bool(done.stdout.strip())) == (0, True), done.stderr
    assert omnigraph.open(place).verify(rules=True).ok


def test_files_that_cannot_grow_fail_the_write_and_nothing_else(place: Path) -> None:
    """A limit on the size of files stands for a disk that is full in the middle of a file."""
    before = contents(omnigraph.open(place))
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft != resource.RLIM_INFINITY:
        pytest.skip("the size of files is limited already")
    outcome = attempts(place, limit=600)
    assert outcome.pop("read")[0] is outcome.pop("again")[0] is None
    for name in ("load", "branch", "delete", "schema", "init"):
        error, hint, message = outcome[name]
        assert error in ("StorageError", "CommitUnknown"), (name, error, message)
        assert hint, name
    expect_unharmed(place, before)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 768 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_fails_writes_until_there_is_room_again(tiny_disk: Path) -> None:
    graph = boats(str(tiny_disk / "graph"))
    graph.create_branch("wip")
    before = contents(graph)
    ballast = tiny_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="space"):
        while True:
            file.write(b"x" * 4096)
    outcome = attempts(tiny_disk / "graph")
    assert outcome.pop("read")[0] is outcome.pop("again")[0] is None
    for name in ("load", "branch", "delete", "schema", "init"):
        error, hint, message = outcome[name]
        assert error in ("StorageError", "CommitUnknown"), (name, error, message)
        assert hint, name
    ballast.unlink()
    expect_unharmed(tiny_disk / "graph", before)
