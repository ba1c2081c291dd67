"""Whoever reads a moment that is given up meanwhile is told so, by every kind of read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph import Graph, Snapshot
from omnigraph.errors import Reclaimed

SCHEMA = "node P { name: String @key  v: I64 }\nedge K: P -> P\n"
QUERY = 'query q() { match { $a: P { name: "p0" } $a k $b } return { $b.name as n } }'
ROWS = 3000

Before = Callable[[Graph, Snapshot], Any]
After = Callable[[Graph, Snapshot, Any], Any]


def _cursor(graph: Graph, snapshot: Snapshot, sql: str) -> Any:  # noqa: ANN401
    cursor = omnigraph_sql.connect(graph, f"main@{snapshot.commit}").cursor()
    cursor.execute(sql)
    return cursor


READS: dict[str, tuple[Before, After]] = {
    "scan": (lambda g, s: None, lambda g, s, _: s.scan("P").read_all()),
    "scan that is open": (lambda g, s: s.scan("P"), lambda g, s, rows: rows.read_all()),
    "filter": (lambda g, s: None, lambda g, s, _: s.scan("P", ["name"], "v > 5").read_all()),
    "get": (lambda g, s: None, lambda g, s, _: s.get("P", "p7")),
    "query": (lambda g, s: None, lambda g, s, _: g.query(QUERY, at=s).rows()),
    "changes": (lambda g, s: None, lambda g, s, _: list(g.changes(s.commit))),
    "diff": (lambda g, s: None, lambda g, s, _: list(g.diff(f"main@{s.commit}", "main"))),
    "plain table": (lambda g, s: None, lambda g, s, _: s.plain_table("raw.e").scan().read_all()),
    "plain table that is open": (
        lambda g, s: s.plain_table("raw.e"),
        lambda g, s, table: table.scan(filter="n > 3").read_all(),
    ),
    "SQL": (
        lambda g, s: omnigraph_sql.connect(g, f"main@{s.commit}"),
        lambda g, s, c: c.cursor().execute("SELECT sum(v) FROM p").fetchall(),
    ),
    "SQL that is open": (
        lambda g, s: _cursor(g, s, "SELECT name, v FROM p"),
        lambda g, s, cursor: cursor.fetchall(),
    ),
    "SQL join that is open": (
        lambda g, s: _cursor(g, s, "SELECT a.v FROM p a JOIN p b ON a.v = b.v + 1"),
        lambda g, s, cursor: cursor.fetchall(),
    ),
    "SQL of a plain table": (
        lambda g, s: _cursor(g, s, "SELECT sum(n) FROM raw.e"),
        lambda g, s, cursor: cursor.fetchall(),
    ),
    "branch": (lambda g, s: None, lambda g, s, _: g.create_branch("b", f"main@{s.commit}")),
}


@pytest.mark.parametrize("kind", READS)
def test_is_told_that_its_moment_was_given_up(tmp_path: Path, kind: str) -> None:
    before, after = READS[kind]
    reader = _graph(tmp_path / "graph")
    snapshot = reader.snapshot()
    opened = before(reader, snapshot)
    _give_up(tmp_path / "graph")
    try:
        rows = after(reader, snapshot, opened)
    except Reclaimed:
        return
    # What was in memory before is right, and all of it.
    assert kind.endswith("that is open") or kind.startswith("SQL"), "it was answered"
    assert len(rows) in (1, ROWS, ROWS - 1)


def _graph(root: Path) -> Graph:
    graph = omnigraph.init(root, SCHEMA, durability="os")
    names = [f"p{i}" for i in range(ROWS)]
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"name": names, "v": range(ROWS)}))
        txn.insert("K", [{"src": "p0", "dst": "p1"}])
        txn.create_table("raw.e", pa.schema([("n", pa.int64())]))
        txn.append("raw.e", [{"n": n} for n in range(50)])
    return omnigraph.open(root)


def _give_up(root: Path) -> None:
    other = omnigraph.open(root, durability="os")
    with other.transaction() as txn:
        txn.overwrite("P", [{"name": "p0", "v": 1}])
        txn.overwrite("K", [{"src": "p0", "dst": "p0"}])
        txn.drop_table("raw.e")
    with other.transaction() as txn:
        txn.upsert("P", [{"name": "p1", "v": 1}])
    assert other.collect(keep=1).files
