"""`omnigraph shell`: statements from a pipe or a terminal, one session."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from engine.cli.conftest import Cli
from engine.cli.test_pipes import OMNIGRAPH
from engine.query.cases import cases
from omnigraph.cli.data.shell import ShellSession, history_file, is_whole, statements
from omnigraph.errors import ParseError
from omnigraph.query import parse

OLDEST = "query q() { match { $p: Person } return { $p.name } order { $p.age desc } limit 1 }"
ADD = "query add($name: String) { insert Person { name: $name } }"


def valid_queries() -> list[str]:
    """Examples of the language reference, those that stand alone."""
    found = []
    for case in cases():
        try:
            found += [case.source.strip()] * (len(parse(case.source).queries) == 1)
        except ParseError:
            continue
    return found


# --------------------------------------------------------------------------- statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\n// only a comment }\n/* and\n{ another */\n", []),
        (OLDEST, [OLDEST]),
        (OLDEST + " // done", [OLDEST]),
        (f"{OLDEST} {OLDEST}", [OLDEST, OLDEST]),
        (f"\\types\n{OLDEST}\n  \\quit  ", ["\\types", OLDEST, "\\quit"]),
        ('query q()\n{ insert A { x: "}{"\n\n} // }\n}\n\\at x', None),
        ('query q() { /* } */ insert A {\n x: "a\n\\types }" } }', None),
        ("hello\n" + OLDEST, ["hello", OLDEST]),
        ("query Bad\n" + OLDEST, ["query Bad", OLDEST]),
        ("query a() { # }\n" + OLDEST, ["query a() { # }", OLDEST]),
        ("}\n" + OLDEST, ["}", OLDEST]),
        ("match { $p: Person }\n" + OLDEST, ["match { $p: Person }", OLDEST]),
        ("query q() {\n  match {", ["query q() {\n  match {"]),
        ('query q() { insert A { x: "open\n' + OLDEST, None),
    ],
)
def test_a_query_ends_where_its_last_brace_closes(text: str, expected: list[str] | None) -> None:
    if expected is None:
        whole, _, command = text.partition("\n\\at")
        expected = [whole, *([f"\\at{command}"] if command else [])]
    assert list(statements(text.split("\n"))) == expected


@pytest.mark.parametrize("query", valid_queries())
def test_no_line_break_within_a_query_ends_it(query: str) -> None:
    lines = re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "\n", query).split("\n")
    assert list(statements(lines)) == ["\n".join(lines)]
    for end in range(1, len(lines)):
        assert not is_whole("\n".join(lines[:end]))


def test_a_long_mutation_is_put_together_quickly() -> None:
    lines = [f'  insert Person {{ name: "p{i}" }}' for i in range(3_000)]
    begun = time.perf_counter()
    assert len(list(statements(["query add() {", *lines, "}"]))) == 1
    assert time.perf_counter() - begun < 10


# --------------------------------------------------------------------------- pipes


def test_piped_statements_are_run_without_prompts_or_history(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(cli.folder / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(cli.folder / "state"))
    assert cli.ok("shell", stdin=OLDEST).out == "p.name\nada\n1 row\n"
    assert not (cli.folder / "state").exists()
    assert not (cli.folder / "home").exists()


def test_one_session_remembers_place_and_parameters(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    lines = cli.ok(
        "shell",
        stdin=f"""\\at
        \\at draft
        \\params {{"name": "eve"}}
        {ADD}
        query count() {{ match {{ $p: Person }} return {{ count($p) as n }} }}
        \\at main
        \\params
        query count() {{ match {{ $p: Person }} return {{ count($p) as n }} }}
        \\quit
        \\nosuch
        """,
    ).out.splitlines()
    assert lines[:3] == ["main", "draft", '{"name": "eve"}']
    assert lines[3].startswith("Affected 1 node and 0 edges of draft in commit ")
    assert lines[4:] == ["n", "3", "1 row", "main", '{"name": "eve"}', "n", "2", "1 row"]


def test_commands_show_the_schema_and_the_plan(cli: Cli) -> None:
    shown = cli.ok("shell", stdin=f"\\types\n\\type Person\n{OLDEST}\n\\explain\n\\help").out
    assert re.search(r"^Knows +edge +Person +Person$", shown, re.M)
    assert re.search(r"^born +Date\?$", shown, re.M)
    assert "read q: " in shown
    assert "\\call NAME" in shown


def test_stored_queries_are_called_mutations_too(cli: Cli) -> None:
    cli.ok("queries", "register", "people.gq")
    shown = cli.ok(
        "shell",
        stdin="""\\queries
        \\call friends {"name": "ada"}
        \\explain
        \\params {"name": "bob", "age": 90}
        \\call grow
        \\call oldest
        """,
    ).out
    assert re.search(r"^grow +mutation ", shown, re.M)
    assert re.search(r"^bob +25$", shown, re.M)
    assert "read friends: " in shown
    assert "Affected 1 node" in shown
    assert re.search(r"^bob +90$", shown, re.M)


def test_an_error_does_not_end_the_session_but_is_its_exit_code(cli: Cli) -> None:
    outcome = cli(
        "shell",
        stdin=f"""\\at nowhere
        \\nosuch
        \\explain
        \\params [1]
        \\call nosuch
        query q() {{ match {{ $p: Persn }} return {{ $p }} }}
        hello
        {ADD}
        {OLDEST}
        query q() {{ match {{
        """,
    )
    assert outcome.code == 3
    assert outcome.out == "p.name\nada\n1 row\n"
    problems = [line for line in outcome.err.splitlines() if line.startswith("Error: ")]
    expected = ["nowhere", "nosuch", "no read", "object", "nosuch", "T1", "expected `query`"]
    expected += ["$name is missing", "ends too early"]
    assert len(problems) == len(expected)
    for problem, words in zip(problems, expected, strict=True):
        assert words in problem


def test_the_past_cannot_be_changed(cli: Cli) -> None:
    outcome = cli("shell", "--at", "main@v1", stdin=f'\\params {{"name": "x"}}\n{ADD}\n{OLDEST}')
    assert outcome.code == 2
    assert "past state" in outcome.err
    assert outcome.out.endswith("p.name\n0 rows\n")


def test_with_json_results_and_errors_are_documents(cli: Cli) -> None:
    outcome = cli("shell", "--json", stdin=f"{OLDEST}\nhello")
    assert outcome.json["rows"] == [{"p.name": "ada"}]
    assert outcome.error["code"] == "parse_error"


def test_what_is_wrong_with_the_call_itself(cli: Cli) -> None:
    assert cli("shell", "--at", "nowhere").code == 3
    assert cli("shell", stdin=b"query \xff").code == 2


# --------------------------------------------------------------------------- completion


def test_completion_knows_types_edges_properties_and_commands(cli: Cli) -> None:
    cli.ok("queries", "register", "people.gq")
    cli.ok("branch", "create", "draft")
    session = ShellSession(omnigraph.open(cli.store), "main")
    assert {"Person", "name", "born", "knows", "Knows", "since", "match", "bm25"} <= set(
        session.completions("query q() { match { $p: Per")
    )
    assert "\\types" in session.completions("\\ty")
    assert session.completions("\\type P") == ["Knows", "Person"]
    assert session.completions("\\call ") == ["friends", "grow", "oldest"]
    assert session.completions("\\at ") == ["draft", "main"]
    assert session.completions("\\params ") == []


def test_completion_reads_nothing_between_two_statements(cli: Cli) -> None:
    session = ShellSession(omnigraph.open(cli.store), "main")
    first = session.completions("x")
    cli.ok("schema", "apply", "social-v2.pg")
    assert session.completions("x") is first
    session.run("\\help")
    assert "nick" in session.completions("x")


# --------------------------------------------------------------------------- history


def test_history_is_where_the_platform_keeps_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert history_file() == tmp_path / ".omnigraph_history"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = history_file()
    assert path == tmp_path / "state" / "omnigraph" / "history"
    assert path.stat().st_mode & 0o077 == 0
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert history_file() is None


# --------------------------------------------------------------------------- terminal


class Terminal:
    """A shell on a pseudo-terminal, typed at."""

    def __init__(self, **environment: str) -> None:
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._shell = subprocess.Popen(
            [*OMNIGRAPH, "shell"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment},
        )
        os.close(terminal)
        self._shown = ""

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    def see(self, pattern: str) -> str:
        """Wait until the screen shows something, and forget what came before."""
        deadline = time.monotonic() + 20
        while not (found := re.search(pattern, self._shown)):
            left = deadline - time.monotonic()
            assert left > 0, self._shown
            if select.select([self._controller], [], [], left)[0]:
                data = os.read(self._controller, 65536).decode(errors="replace")
                self._shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)
        self._shown = self._shown[found.end() :]
        return found[0]

    def end(self) -> int:
        return self._shell.wait(20)

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._controller)


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    found = Terminal(XDG_STATE_HOME=str(cli.folder / "state"))
    yield found
    found.close()


def test_a_conversation(cli: Cli, terminal: Terminal) -> None:
    terminal.see(r"social\.omni at main; \\help")
    terminal.see("main>")
    terminal.type(f"{OLDEST}\r")
    terminal.see(r"ada\s+1 row")
    terminal.type("query q() {\r  match { $p: Person { name: $nobody } } // }\r")
    terminal.type("  return { $p.name } }\r")
    terminal.see("T14")
    terminal.type("query open() { match {")
    terminal.see("match")
    terminal.type("\x03")  # Ctrl-C gives it up
    terminal.see("main>")
    terminal.type("\\at main@v1\r")
    terminal.see("main@v1>")
    terminal.type(f"{OLDEST}\r")
    terminal.see("0 rows")
    terminal.see("main@v1>")
    terminal.type("\x04")  # Ctrl-D
    assert terminal.end() == 0
    history = (cli.folder / "state" / "omnigraph" / "history").read_text()
    assert f"+{OLDEST}\n" in history
    assert "+query q() {\n+  match" in history


def test_a_tab_offers_names_of_the_schema(terminal: Terminal) -> None:
    terminal.see("main>")
    terminal.type("query q() { match { $p: Perso\t")
    terminal.see("Person")
    terminal.type("\x03")
    terminal.see("main>")
    terminal.type("\\quit\r")
    assert terminal.end() == 0


def test_a_pasted_text_of_several_queries_runs_them_all(terminal: Terminal) -> None:
    terminal.see("main>")
    count = "query n() { match { $p: Person }\n  return { count($p) as n } }"
    terminal.type(f"\x1b[200~{OLDEST}\n\n{count}\x1b[201~\r")
    terminal.see(r"ada\s+1 row")
    terminal.see(r"2\s+1 row")
    terminal.type("\\quit\r")
    assert terminal.end() == 0
