"""A statement sees one snapshot of each catalog; a moment of the past gives the same for ever."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import NotFound
from sql.conftest import rows
from support.social import add_person, persons, social_graph


def test_a_moment_answers_the_same_after_commits_compaction_and_collection(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann", "Bob"], ["Ann>Bob"])
    with graph.transaction() as txn:
        txn.create_table("public.t", pa.schema([("x", pa.int64())]))
        txn.append("public.t", pa.table({"x": [1, 2, 3]}))
    commit = graph.snapshot().commit
    connection = omnigraph_sql.connect(graph)
    asked = (
        f'SELECT p.name, k.dst, (SELECT sum(x) FROM "main@{commit}".public.t) AS s '
        f'FROM "main@{commit}".nodes.person p '
        f'LEFT JOIN "main@{commit}".edges.knows k ON k.src = p.id ORDER BY 1'
    )
    before = rows(connection, asked)
    assert before == [{"name": "Ann", "dst": "Bob", "s": 6}, {"name": "Bob", "dst": None, "s": 6}]
    for number in range(12):
        add_person(graph, f"P{number}")
    with graph.transaction() as txn:
        txn.delete("Person", ["Ann"])
        txn.append("public.t", pa.table({"x": [100]}))
    assert rows(connection, asked) == before
    graph.optimize()
    assert rows(connection, asked) == before
    graph.collect(keep=50)
    assert rows(connection, asked) == before
    assert rows(omnigraph_sql.connect(graph, f"main@{commit}"), asked) == before
    assert rows(connection, "SELECT count(*) AS n FROM person") == [{"n": 13}]


def test_a_renamed_type_shows_its_past_under_todays_names(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    source = graph.schema().source
    graph.apply_schema(
        source.replace("age: I64?", 'years: I64? @rename_from("age")'), message="rename"
    )
    connection = omnigraph_sql.connect(graph)
    asked = 'SELECT name, years FROM "main@v2".nodes.person WHERE years > 10'
    assert rows(connection, asked) == [{"name": "Ann", "years": 30}]


def test_a_widened_property_joins_with_its_past(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path / "g"), "node P { k: String @key  n: I32? }")
    with graph.transaction() as txn:
        txn.insert("P", [{"k": "a", "n": 7}])
    graph.apply_schema("node P { k: String @key  n: I64? }")
    connection = omnigraph_sql.connect(graph)
    sql = 'SELECT a.n AS a, b.n AS b FROM "main@v2".p a JOIN p b ON a.n = b.n'
    assert rows(connection, sql) == [{"a": 7, "b": 7}]


def test_two_branches_join(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    graph.create_branch("dev/x")
    add_person(graph, "Bob", "dev/x")
    connection = omnigraph_sql.connect(graph)
    sql = (
        "SELECT b.name FROM person a "
        'RIGHT JOIN "dev/x".nodes.person b USING (id) WHERE a.id IS NULL'
    )
    assert rows(connection, sql) == [{"name": "Bob"}]


def test_a_prepared_statement_sees_new_commits_when_it_runs_again(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    statement = omnigraph_sql.connect(graph).prepare("SELECT count(*) AS n FROM person")
    for expected in (1, 2, 3):
        reader = statement.execute()
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.read_all().to_pylist() == [{"n": expected}]
        add_person(graph, f"P{expected}")


def test_a_result_read_late_is_of_its_moment(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    reader = omnigraph_sql.connect(graph).execute("SELECT name FROM person")
    assert isinstance(reader, pa.RecordBatchReader)
    with graph.transaction() as txn:
        txn.overwrite("Person", persons(["Zoe"]))
    assert reader.read_all().to_pylist() == [{"name": "Ann"}]


def test_clocks_run_on_between_executions(tmp_path: Path) -> None:
    connection = omnigraph_sql.connect(social_graph(str(tmp_path / "g")))
    first, second = (rows(connection, "SELECT now() AS t")[0]["t"] for _ in range(2))
    assert second > first


def test_a_moment_that_is_not_there_is_told(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"))
    with pytest.raises(NotFound):
        omnigraph_sql.connect(graph, "nowhere")
    connection = omnigraph_sql.connect(graph)
    with pytest.raises(NotFound):
        connection.execute('SELECT * FROM "main@v99".nodes.person')
    with pytest.raises(NotFound):
        connection.execute("SELECT * FROM nowhere.nodes.person")


def test_a_tag_is_a_catalog(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    tag = graph.tags.create("release")
    add_person(graph, "Bob")
    connection = omnigraph_sql.connect(graph)
    assert rows(connection, "SELECT count(*) AS n FROM release.nodes.person") == [{"n": 1}]
    assert rows(connection, "SELECT name, commit_id, branch FROM system.tags") == [
        {"name": "release", "commit_id": tag.commit, "branch": "main"}
    ]
    assert [row["name"] for row in rows(connection, "SHOW TAGS")] == ["release"]
