"""`omnigraph sql` and `\\sql` in the shell."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

import omnigraph_sql
from engine.cli.conftest import Cli, bare, cli, empty

__all__ = ["bare", "cli", "empty"]  # fixtures

PROJECT = Path(omnigraph_sql.__file__).parents[1] / "pyproject.toml"


@pytest.fixture
def sql(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command with the entry points of our distribution, installed or not."""
    points = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]
    info = cli.folder / "site" / "omnigraph_sql-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: omnigraph-sql\nVersion: 0\n")
    text = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in found.items())
        for group, found in points.items()
    )
    (info / "entry_points.txt").write_text(text)
    monkeypatch.syspath_prepend(str(cli.folder / "site"))
    importlib.invalidate_caches()
    return cli


def test_rows_come_in_every_format(sql: Cli) -> None:
    query = "SELECT name, age FROM Person ORDER BY name"
    assert sql.ok("sql", query).out == "name  age\nada    36\nbob    25\n2 rows\n"
    assert sql.ok("sql", query, "--format", "csv").out == '"name","age"\n"ada",36\n"bob",25\n'
    assert sql.ok("sql", query, "--json").json["rows"] == [
        {"name": "ada", "age": 36},
        {"name": "bob", "age": 25},
    ]


def test_parameters_dialects_and_moments(sql: Cli) -> None:
    named = sql.ok("sql", "SELECT age FROM person WHERE name = :n", "--params", '{"n": "ada"}')
    assert named.out == "age\n 36\n1 row\n"
    listed = sql.ok(
        "sql", "SELECT iff(1 = ?, 'y', 'n') AS x", "--params", "[1]", "--dialect", "snowflake"
    )
    assert listed.out == "x\ny\n1 row\n"
    past = sql.ok("sql", "SELECT count(*) AS n FROM person", "--branch", "main@v1")
    assert past.out == "n\n0\n1 row\n"


def test_a_file_of_statements_runs(sql: Cli) -> None:
    Path("report.sql").write_text("-- a report\nSELECT 1; SELECT count(*) AS n FROM knows;")
    assert sql.ok("sql", "--file", "report.sql").out == "n\n1\n1 row\n"
    assert sql.ok("sql", "--file", "-", stdin="SELECT 2 AS two").out == "two\n  2\n1 row\n"


def test_updates_say_how_many_rows_they_changed(sql: Cli) -> None:
    outcome = sql.ok("sql", "UPDATE person SET age = 37 WHERE name = 'ada'", "--actor", "me")
    assert outcome.out == "1 row affected.\n"
    assert sql.ok("sql", "DELETE FROM person WHERE age < 0", "--json").json == {"affected": 0}
    log = sql.ok("sql", "SELECT actor FROM system.commits ORDER BY version DESC LIMIT 1")
    assert log.out == "actor\nme\n1 row\n"


def test_errors_have_exit_codes(sql: Cli) -> None:
    assert sql("sql", "SELEC 1").code == 2
    assert sql("sql", "SELECT * FROM nothing").code == 3
    assert sql("sql").code == 2
    assert "Traceback" not in sql("sql", "SELECT (").err


def test_the_shell_runs_sql(sql: Cli) -> None:
    outcome = sql.ok("shell", stdin="\\sql SELECT count(*) AS n FROM person\n\\quit\n")
    assert outcome.out == "n\n2\n1 row\n"
