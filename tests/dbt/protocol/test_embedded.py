"""A profile of one line: no server, the graph is a folder that dbt makes."""

from __future__ import annotations

from pathlib import Path

import omnigraph
import omnigraph_sql
from support.dbt_projects import a_project


def test_a_path_is_all_that_a_profile_needs(tmp_path: Path) -> None:
    path = tmp_path / "graph.omni"
    built = a_project(tmp_path / "project", {"a": "select 1 as n"}, path=str(path))
    run = built.dbt("run")
    assert run.code == 0, run.output
    connection = omnigraph_sql.connect(omnigraph.open(str(path)))
    found = connection.execute("select n from analytics.a")
    assert not isinstance(found, int)
    assert found.read_all().to_pylist() == [{"n": 1}]


def test_debug_says_whether_the_graph_answers(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.omni")
    reachable = a_project(tmp_path / "reachable", {}, path=path).dbt("debug")
    assert reachable.code == 0, reachable.output
    unreachable = a_project(tmp_path / "unreachable", {}, uri="grpc://127.0.0.1:9").dbt("debug")
    assert unreachable.code == 1
