"""Reads of other moments and after schema changes, and groups by values of every kind."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph import exec as execution
from omnigraph.errors import NotFound
from omnigraph.exec.graph.exec_context import ExecContext


def test_the_past_is_read_under_the_names_of_today(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path), "node P { k: String @key n: I32? }\nedge E: P -> P")
    with graph.transaction() as txn:
        txn.insert("P", [{"k": "a", "n": 1}, {"k": "b", "n": 2}])
        txn.insert("E", [{"src": "a", "dst": "b"}])
    old = graph.snapshot().commit
    graph.apply_schema(
        'node Q @rename_from("P") { k: String @key m: I64? @rename_from("n") x: String? }\n'
        "edge E: Q -> Q"
    )
    with graph.transaction() as txn:
        txn.upsert("Q", [{"k": "a", "m": 10, "x": "new"}, {"k": "c", "m": 3}])
        txn.insert("E", [{"src": "c", "dst": "a"}])
    context = ExecContext()
    body = "match { $q: Q  $q e $r } return { $q.k, $r.m, $r.m as again } order { $q.k }"
    grouped = "match { $q: Q  $q e $r } return { $r.m, count($q) as c, max($r.m) as hi }"
    for mode in ("csr", "indexed"):
        context = ExecContext(mode=mode)
        assert values(read(graph, body, context=context)) == [("a", 2, 2), ("c", 10, 10)]
        at = f"main@{old}"
        assert values(read(graph, body, context=context, at=at)) == [("a", 2, 2)]
        found = read(graph, grouped, context=context, at=at).to_arrow()
        assert found.to_pylist() == [{"r.m": 2, "c": 1, "hi": 2}]
        assert [str(field.type) for field in found.schema] == ["int64", "int64", "int64"]
        with pytest.raises(NotFound, match="x did not exist"):
            read(graph, "match { $q: Q } return { $q.x }", context=context, at=at).to_arrow()


def test_lists_and_vectors_can_be_group_keys(tmp_path: Path) -> None:
    graph = omnigraph.init(
        str(tmp_path), "node P { k: String @key t: [String]? v: Vector(2)? b: Bool? }"
    )
    with graph.transaction() as txn:
        txn.insert(
            "P",
            [
                {"k": "a", "t": ["x"], "v": [0.0, 1.0], "b": True},
                {"k": "b", "t": ["x"], "v": [0.0, 1.0], "b": True},
                {"k": "c", "t": [], "v": None, "b": None},
                {"k": "d", "t": None, "v": None, "b": None},
            ],
        )
    for mode in ("csr", "indexed"):
        context = ExecContext(mode=mode)
        body = "match { $p: P } return { $p.t, count($p) as c } order { c desc }"
        assert values(read(graph, body, context=context)) == [(["x"], 2), (None, 1), ([], 1)]
        body = "match { $p: P } return { $p.v, $p.b, count($p) as c } order { c, $p.b }"
        found = values(read(graph, body, context=context))
        assert found == [(None, None, 2), ([0.0, 1.0], True, 2)]


def test_execution_meets_lance_only_through_storage() -> None:
    folder = Path(execution.__path__[0])
    imported = set()
    files = sorted(folder.rglob("*.py"))
    assert len(files) > 40
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {
                    (path.relative_to(folder).as_posix(), alias.name.split(".")[0])
                    for alias in node.names
                }
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add((path.relative_to(folder).as_posix(), node.module.split(".")[0]))
    heavy = {"lance", "datafusion", "scipy", "pandas"}
    assert {(file, name) for file, name in imported if name in heavy} == {
        ("run/external_sort.py", "datafusion")
    }
