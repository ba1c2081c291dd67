"""A folder with input files and a graph in it, and a way to run commands there."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import omnigraph.cli
from omnigraph.cli import run

SCHEMA = """\
node Person {
  name: String @key
  age: I32?
  born: Date?
}

edge Knows: Person -> Person {
  since: I32?
}
"""

PEOPLE = """\
{"type":"Person","data":{"name":"ada","age":36,"born":"1815-12-10"}}
{"type":"Person","data":{"name":"bob","age":25}}
{"edge":"Knows","from":"ada","to":"bob","data":{"id":"k1","since":1840}}
"""

QUERIES = """\
// Whom somebody knows; { and } may stand in comments.
query friends($name: String) @description("Whom somebody knows") {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name, $f.age }
  order { $f.name }
}

query oldest() {
  match { $p: Person } return { $p.name, $p.age } order { $p.age desc } limit 1
}

query grow($name: String, $age: I32) {
  update Person set { age: $age } where name = $name
}
"""


@dataclass(frozen=True)
class Outcome:
    """What one run of a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out)

    @property
    def error(self) -> Any:  # noqa: ANN401
        return json.loads(self.err)


class Cli:
    """Runs commands in this process, in the test's folder."""

    def __init__(self, folder: Path, read: Callable[[], Any], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.store = folder / "social.omni"
        self._read = read
        self._patch = patch

    def __call__(self, *arguments: str, stdin: str | bytes = b"") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = run(arguments)
        captured = self._read()
        outcome = Outcome(code, captured.out.decode(), captured.err.decode())
        assert "\x1b" not in outcome.out + outcome.err, "colour codes in a pipe"
        return outcome

    def ok(self, *arguments: str, stdin: str | bytes = b"") -> Outcome:
        """Run a command that must succeed, silently on stderr."""
        outcome = self(*arguments, stdin=stdin)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome

    def head(self, branch: str = "main") -> str:
        """The commit at the tip of a branch."""
        commits = self.ok("commit", "list", "--branch", branch, "--json").json["commits"]
        return str(commits[0]["graph_commit_id"])


@pytest.fixture
def bare(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> Cli:
    """The command in a folder with input files and no graph."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OMNIGRAPH_STORE", raising=False)
    monkeypatch.delenv("OMNIGRAPH_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    # Commands that run as processes of their own find the package from any folder.
    monkeypatch.setenv("PYTHONPATH", str(Path(omnigraph.cli.__file__).absolute().parents[2]))
    Path("social.pg").write_text(SCHEMA)
    Path("social-v2.pg").write_text(SCHEMA.replace("age: I32?", "age: I32?\n  nick: String?"))
    Path("people.ndjson").write_text(PEOPLE)
    Path("people.gq").write_text(QUERIES)
    return Cli(tmp_path, capsysbinary.readouterr, monkeypatch)


@pytest.fixture
def empty(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command with a graph that has a schema and no entities, in OMNIGRAPH_STORE."""
    bare.ok("init", "social.pg", "social.omni")
    monkeypatch.setenv("OMNIGRAPH_STORE", str(bare.store))
    return bare


@pytest.fixture
def cli(empty: Cli) -> Cli:
    """The command with a graph of two people, one of whom knows the other."""
    empty.ok("load", "people.ndjson")
    return empty


@pytest.fixture
def columnar(cli: Cli) -> Cli:
    """As `cli`, with files of rows beside it."""
    people = pa.table({"name": ["cy", "dee"], "age": pa.array([41, 52], pa.int32())})
    pa.parquet.write_table(people, "people.parquet")
    Path("knows.csv").write_text("from,to,since\ncy,dee,1999\n")
    return cli
