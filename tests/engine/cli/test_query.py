"""`omnigraph query` runs reads and writes their rows in the format asked for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from engine.cli.conftest import Cli
from engine.cli.test_pipes import OMNIGRAPH, on_a_terminal

PEOPLE = """query people() {
  match { $p: Person } return { $p.name, $p.age, $p.born } order { $p.name }
}"""
TWICE = "query q() { match { $a: Person  $a knows $b } return { $a.name as n, $b.name as n } }"
NOTES = """
node Note { slug: String @key  tags: [String]?  vec: Vector(2)?  at: DateTime?  big: I64?
            ok: Bool?  score: F64? }
"""
FULL = {
    "slug": "a",
    "tags": ["x", 'y, "z"'],
    "vec": [1.0, 0.5],
    "at": "2026-01-02T03:04:05.678Z",
    "big": "9007199254740993",
    "ok": True,
    "score": 1.5,
}
ROWS = [{"type": "Note", "data": data} for data in (FULL | {"big": 2**53 + 1}, {"slug": ""})]
ALL = """query all() { match { $n: Note }
  return { $n.slug, $n.tags, $n.vec, $n.at, $n.big, $n.ok, $n.score } order { $n.slug desc } }"""


@pytest.fixture
def notes(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A graph with a value of every kind that formats differ in, and a row of nulls."""
    monkeypatch.setenv("OMNIGRAPH_STORE", "notes.omni")
    Path("notes.pg").write_text(NOTES)
    bare.ok("init", "notes.pg")
    bare.ok("load", stdin="\n".join(map(json.dumps, ROWS)))
    return bare


# --------------------------------------------------------------------------- where the text is


def test_a_table_of_rows_is_the_default(cli: Cli) -> None:
    assert cli.ok("query", "-e", PEOPLE).out.splitlines() == [
        "p.name  p.age  p.born",
        "ada        36  1815-12-10",
        "bob        25  -",
        "2 rows",
    ]


def test_a_text_comes_from_a_file_a_pipe_or_the_command_line(cli: Cli) -> None:
    Path("one.gq").write_text(PEOPLE)
    shown = cli.ok("query", "-e", PEOPLE).out
    assert cli.ok("query", "--file", "one.gq").out == shown
    assert cli.ok("query", "--file", "-", stdin=PEOPLE).out == shown
    assert cli.ok("query", stdin=PEOPLE).out == shown
    assert cli.ok("query", "people", "--file", "-", stdin=PEOPLE).out == shown


def test_a_name_chooses_among_the_queries_of_a_file(cli: Cli) -> None:
    shown = cli.ok("query", "oldest", "--file", "people.gq", "--json").json
    assert shown["rows"] == [{"p.name": "ada", "p.age": 36}]
    outcome = cli("query", "--file", "people.gq", "--json")
    assert outcome.code == 2
    assert outcome.error["query_names"] == ["friends", "oldest", "grow"]
    outcome = cli("query", "oldst", "--file", "people.gq")
    assert outcome.code == 2
    assert "did you mean 'oldest'" in outcome.err


def test_a_name_alone_is_a_stored_query(cli: Cli) -> None:
    outcome = cli("query", "oldest")
    assert (outcome.code, "no stored query 'oldest'" in outcome.err) == (3, True)
    cli.ok("queries", "register", "people.gq")
    assert cli.ok("query", "oldest", "--json").json["query_name"] == "oldest"
    assert cli("query", "oldest", "--at", "main@v2").code == 3


def test_parameters_are_json(cli: Cli) -> None:
    asked = ("query", "friends", "--file", "people.gq", "--params", '{"name": "ada"}', "--json")
    assert cli.ok(*asked).json["rows"] == [{"f.name": "bob", "f.age": 25}]


def test_reads_the_past_and_other_branches(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    cli.ok("mutate", "-e", 'query d() { delete Person where name = "bob" }', "--branch", "draft")

    def count(at: str) -> int:
        return int(cli.ok("query", "-e", PEOPLE, "--at", at, "--json").json["row_count"])

    assert [count(at) for at in ("main", "main@v2", "main@v1", "draft", "draft@v2")] == [
        2,
        2,
        0,
        1,
        2,
    ]


# --------------------------------------------------------------------------- formats


def test_json_is_the_response_envelope(cli: Cli) -> None:
    shown = cli.ok("query", "-e", PEOPLE, "--json").json
    assert shown == {
        "query_name": "people",
        "target": {"branch": "main", "snapshot": cli.head()},
        "row_count": 2,
        "columns": ["p.name", "p.age", "p.born"],
        "rows": [
            {"p.name": "ada", "p.age": 36, "p.born": "1815-12-10"},
            {"p.name": "bob", "p.age": 25, "p.born": None},
        ],
        "graph_commit_id": cli.head(),
    }
    assert cli.ok("query", "-e", PEOPLE, "--format", "json").json == shown


def test_jsonl_is_one_row_per_line(notes: Cli) -> None:
    lines = notes.ok("query", "-e", ALL, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {f"n.{name}": value for name, value in FULL.items()},
        {f"n.{name}": None for name in FULL} | {"n.slug": ""},
    ]


def test_csv_tells_null_from_empty_and_has_lists_and_times_as_json_does(notes: Cli) -> None:
    assert notes.ok("query", "-e", ALL, "--format", "csv").out.splitlines() == [
        '"n.slug","n.tags","n.vec","n.at","n.big","n.ok","n.score"',
        '"a","[""x"", ""y, \\""z\\""""]","[1.0, 0.5]","2026-01-02T03:04:05.678Z",9007199254740993,'
        "true,1.5",
        '"",,,,,,',
    ]


def test_a_table_shows_every_kind_of_value(notes: Cli) -> None:
    first, row, empty, last = notes.ok("query", "-e", ALL).out.splitlines()
    assert row.split() == [
        "a",
        *('["x",', '"y,', '\\"z\\""]'),
        *("[1.0,", "0.5]", "2026-01-02T03:04:05.678Z", "9007199254740993", "true", "1.5"),
    ]
    assert empty.split() == ["-"] * 6
    assert last == "2 rows"


def test_arrow_is_a_stream_for_programs(notes: Cli) -> None:
    done = subprocess.run(
        [*OMNIGRAPH, "query", "-e", ALL, "--format", "arrow"], capture_output=True, check=True
    )
    table = pa.ipc.open_stream(done.stdout).read_all()
    assert table.column("n.big").to_pylist() == [9007199254740993, None]
    assert table.schema.field("n.vec").type.list_size == 2
    assert done.stderr == b""


def test_arrow_does_not_go_to_a_terminal(cli: Cli) -> None:
    _, shown = on_a_terminal("query", "-e", PEOPLE, "--format", "arrow", stdout=True, code=2)
    assert "send it to a file or a pipe" in shown


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "arrow"])
def test_no_rows_keep_their_columns(cli: Cli, form: str) -> None:
    none = PEOPLE.replace("$p: Person", '$p: Person { name: "nobody" }')
    done = subprocess.run(
        [*OMNIGRAPH, "query", "-e", none, "--format", form], capture_output=True, check=True
    )
    match form:
        case "table":
            assert done.stdout.decode().split() == ["p.name", "p.age", "p.born", "0", "rows"]
        case "json":
            shown = json.loads(done.stdout)
            assert (shown["rows"], shown["columns"]) == ([], ["p.name", "p.age", "p.born"])
        case "jsonl":
            assert done.stdout == b""
        case "csv":
            assert done.stdout == b'"p.name","p.age","p.born"\n'
        case _:
            assert pa.ipc.open_stream(done.stdout).read_all().num_rows == 0


def test_columns_of_one_name_need_aliases_only_in_json(cli: Cli) -> None:
    for form in ("json", "jsonl"):
        outcome = cli("query", "-e", TWICE, "--format", form)
        assert (outcome.code, outcome.out) == (2, "")
        assert "two columns are called 'n'" in outcome.err
        assert "as …" in outcome.err
    assert cli.ok("query", "-e", TWICE, "--format", "csv").out == '"n","n"\n"ada","bob"\n'
    assert cli.ok("query", "-e", TWICE).out.splitlines()[:2] == ["n    n", "ada  bob"]
    done = subprocess.run(
        [*OMNIGRAPH, "query", "-e", TWICE, "--format", "arrow"], capture_output=True, check=True
    )
    table = pa.ipc.open_stream(done.stdout).read_all()
    assert (table.column_names, table.num_rows) == (["n", "n"], 1)


def test_what_data_holds_cannot_steer_a_terminal(cli: Cli) -> None:
    cli.ok("load", stdin='{"type":"Person","data":{"name":"\\u001b[31mred\\n"}}')
    assert "\\x1b[31mred\\n" in cli.ok("query", "-e", PEOPLE).out


@pytest.mark.parametrize("form", ["jsonl", "csv", "arrow"])
def test_a_reader_that_stops_early_is_no_error(empty: Cli, form: str) -> None:
    lines = [json.dumps({"type": "Person", "data": {"name": f"p{i:07}"}}) for i in range(100_000)]
    empty.ok("load", stdin="\n".join(lines))
    with subprocess.Popen(
        [*OMNIGRAPH, "query", "-e", PEOPLE, "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert os.read(process.stdout.fileno(), 100)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


# --------------------------------------------------------------------------- errors


def test_a_parse_error_shows_the_place(cli: Cli) -> None:
    Path("bad.gq").write_text("query q() {\n  mtach { $p: Person } return { $p } }\n")
    outcome = cli("query", "--file", "bad.gq")
    assert outcome.code == 2
    where, line, carets, *_ = outcome.err.splitlines()
    assert where.startswith("Error: bad.gq:2:3 expected ")
    assert line == "    mtach { $p: Person } return { $p } }"
    assert carets == "    ^^^^^"
    error = cli("query", "--file", "bad.gq", "--json").error
    assert (error["code"], error["line"], error["column"]) == ("parse_error", 2, 3)
    assert cli("query", "-e", "query q(").err.startswith("Error: <text>:1:8 ")
    assert cli("query", stdin="query q(").err.startswith("Error: <stdin>:1:8 ")


def test_a_type_error_begins_with_its_code(cli: Cli) -> None:
    Path("bad.gq").write_text("query q() { match { $p: Person }\n  return { $p.agee } }")
    outcome = cli("query", "--file", "bad.gq")
    assert outcome.code == 2
    assert outcome.err.startswith("Error: T6: bad.gq:2:")
    assert "did you mean 'age'" in outcome.err
    error = cli("query", "--file", "bad.gq", "--json").error
    assert (error["code"], error["type_code"]) == ("type_error", "T6")


def test_a_stored_query_that_the_schema_left_behind_is_named(cli: Cli) -> None:
    cli.ok("queries", "register", "people.gq")
    schema = Path("social.pg").read_text()
    Path("no-age.pg").write_text(schema.replace("age: I32?", ""))
    cli.ok("schema", "apply", "no-age.pg")
    outcome = cli("query", "oldest")
    assert outcome.code == 2
    assert outcome.err.startswith("Error: T6: stored query oldest:2:")


FRIENDS = ("friends", "--file", "people.gq")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((*FRIENDS, "--params", "{name}"), 2, "not JSON"),
        ((*FRIENDS, "--params", "[" * 100_000), 2, "not JSON"),
        ((*FRIENDS, "--params", '["ada"]'), 2, "must be an object"),
        ((*FRIENDS, "--params", '{"name": 5}'), 2, "$name needs a string"),
        (FRIENDS, 2, "$name is missing"),
        ((*FRIENDS, "-e", PEOPLE), 2, "not both"),
        (("--file", "nosuch.gq"), 3, "no query file"),
        (("--file", "."), 2, "cannot read"),
        ((), 2, "give -e TEXT"),
        (("-e", ""), 2, "holds no query"),
        (("-e", PEOPLE, "--at", "nowhere"), 3, "nowhere"),
        (("-e", PEOPLE, "--at", "main@v99"), 3, "99"),
        (("-e", PEOPLE, "--format", "xml"), 2, "xml"),
        (("-e", PEOPLE, "--format", "csv", "--json"), 2, "contradict"),
        (("grow", "--file", "people.gq"), 2, "Run it with mutate."),
    ],
)
def test_what_cannot_be_asked(cli: Cli, arguments: tuple[str, ...], code: int, words: str) -> None:
    outcome = cli("query", *arguments)
    assert outcome.code == code
    assert words in outcome.err + outcome.out
    assert "Traceback" not in outcome.err


def test_a_file_that_is_no_text_is_wrong_input(cli: Cli) -> None:
    Path("bad.gq").write_bytes(b"query \xff")
    assert cli("query", "--file", "bad.gq").code == 2
    assert cli("query", "--file", "-", stdin=b"query \xff").code == 2
