"""`omnigraph snapshot` shows what the graph holds at a moment."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from engine.cli.conftest import Cli


def test_shows_types_with_kinds_counts_and_versions(cli: Cli) -> None:
    first, header, *rows = cli.ok("snapshot").out.splitlines()
    assert first == f"main at {cli.head()} (v2)"
    assert header.split() == ["type", "kind", "entities", "version"]
    assert [row.split() for row in rows] == [
        ["Person", "node", "2", "v2"],
        ["Knows", "edge", "1", "v2"],
    ]


def test_shows_the_past(cli: Cli) -> None:
    shown = cli.ok("snapshot", "--at", "main@v1", "--json").json
    assert shown["graph_manifest_version"] == 1
    assert [type_["entities"] for type_ in shown["types"]] == [0, 0]
    assert set(shown["types"][0]) == {"name", "kind", "entities", "table_version"}


def test_shows_rows_of_a_type(cli: Cli) -> None:
    header, *rows = cli.ok("snapshot", "Person", "--columns", "name, born").out.splitlines()
    assert header.split() == ["name", "born"]
    assert [row.split() for row in rows] == [["ada", "1815-12-10"], ["bob", "-"]]


def test_filters_and_limits(cli: Cli) -> None:
    shown = cli.ok("snapshot", "Person", "--filter", "age > 30", "--json").json
    assert shown["rows"] == [{"id": "ada", "age": 36, "born": "1815-12-10", "name": "ada"}]
    assert shown["columns"] == ["id", "age", "born", "name"]
    assert shown["row_count"] == 1
    assert shown["graph_commit_id"] == cli.head()
    assert shown["target"] == {"branch": "main", "snapshot": cli.head()}
    outcome = cli.ok("snapshot", "Person", "--limit", "1")
    assert outcome.out.splitlines()[-1] == "1 of 2; see more with --limit."


def test_values_are_written_as_rows_of_queries_are(bare: Cli) -> None:
    Path("all.pg").write_text(
        "node T { k: String @key  at: DateTime?  big: I64?  b: Blob?  v: Vector(2)?  l: [String]? }"
    )
    bare.ok("init", "all.pg", "all.omni")
    row = '{"k":"x","at":"2026-01-02T03:04:05.678Z","big":9007199254740993,"b":"base64:aGk=",'
    row += '"v":[1,0.5],"l":["a","b"]}'
    bare.ok("load", "--store", "all.omni", stdin=f'{{"type":"T","data":{row}}}')
    shown = bare.ok("snapshot", "T", "--store", "all.omni", "--json").json["rows"]
    assert shown == [
        {
            "id": "x",
            "at": "2026-01-02T03:04:05.678Z",
            "b": "base64:aGk=",
            "big": "9007199254740993",
            "k": "x",
            "l": ["a", "b"],
            "v": [1.0, 0.5],
        }
    ]
    assert "2 bytes" in bare.ok("snapshot", "T", "--store", "all.omni").out


def test_what_data_holds_cannot_steer_a_terminal(cli: Cli) -> None:
    cli.ok("load", stdin='{"type":"Person","data":{"name":"\\u001b[31m[red]\\n\\u202e"}}')
    assert "\\x1b[31m[red]\\n\\u202e" in cli.ok("snapshot", "Person").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("Nobody",), 3),
        (("Person", "--columns", "agee"), 3),
        (("--at", "nowhere"), 3),
        (("--at", "main@v99"), 3),
        (("--at", "main@yesterday"), 2),
        (("--at", "../main"), 2),
        (("Person", "--filter", "age >"), 2),
        (("Person", "--filter", "agee > 1"), 2),
        (("Person", "--columns", ""), 3),
        (("Person", "--limit", "0"), 2),
        (("--limit", "5"), 2),
        (("--columns", "name"), 2),
        (("Person", "Knows"), 2),
    ],
)
def test_what_cannot_be_shown(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    assert cli("snapshot", *arguments).code == code


def test_plain_tables_are_listed_with_the_types(cli: Cli) -> None:
    with omnigraph.open(cli.store).transaction() as txn:
        txn.create_table("shop.sales", pa.schema([("n", pa.int64())]))
        txn.append("shop.sales", [{"n": 1}])
    assert "shop.sales" in cli.ok("snapshot").out
    shown = cli.ok("snapshot", "--json").json
    assert shown["tables"] == [{"name": "shop.sales", "rows": 1, "table_version": 1}]
