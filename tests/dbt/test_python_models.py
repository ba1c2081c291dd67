"""Python models run on Spark, read and write the branch of the run, and publish with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
import omnigraph_sql
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from spark.sessions import local_session
from support.dbt_projects import Project, a_project, ended

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

AGED = """
from pyspark.sql import functions as F

def model(dbt, session):
    return dbt.ref("people").withColumn("age", F.lit(2026) - F.col("born"))
"""
COUNTED = """
def model(dbt, session):
    dbt.config(materialized="incremental", unique_key="id", incremental_strategy="merge")
    frame = dbt.source("raw", "people")
    if dbt.is_incremental:
        frame = frame.filter("id >= 3").selectExpr("id", "concat(name, '!') as name", "born")
    return frame
"""
ARROWS = """
import pyarrow as pa

def model(dbt, session):
    return pa.table({"n": [1, 2, 3]})
"""
PERSON = """
def model(dbt, session):
    dbt.config(materialized="node", type_name="Person")
    return dbt.ref("aged").select("id", "name")
"""
KNOWS = """
import pandas as pd

def model(dbt, session):
    dbt.config(
        materialized="edge", type_name="Knows", from_node="a", to_node="b",
        from_type="Person", to_type="Person",
    )
    dbt.ref("person")
    return pd.DataFrame({"a": [1, 2], "b": [2, 3], "since": [1830, 1940]})
"""
NOBODY = """
def model(dbt, session):
    return dbt.ref("people").where("born > 3000")
"""
PROPERTIES = """
sources:
  - {name: raw, schema: analytics, tables: [{name: people}]}
"""
PEOPLE = "(values (1, 'Ada', 1815), (2, 'Grace', 1906), (3, 'Alan', 1912)) as p(id, name, born)"
SQL = {"people": f"select * from {PEOPLE}"}
PYTHON = {
    "aged": AGED,
    "counted": COUNTED,
    "arrows": ARROWS,
    "person": PERSON,
    "knows": KNOWS,
    "nobody": NOBODY,
}


@pytest.fixture(scope="session")
def spark() -> Any:  # noqa: ANN401
    """The session that all tests of a process share."""
    return local_session("local[2]")


def with_python(project: Project, models: dict[str, str]) -> Project:
    project.write({f"models/{name}.py": code for name, code in models.items()})
    return project


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = str(tmp_path / "graph.omni")
    omnigraph.init(path, "")
    return path


@pytest.fixture
def address(graph: str) -> Iterator[str]:
    with Server(Config(graphs={"graph": graph}, port=0, optimize_seconds=0)) as server:
        yield server.uri


Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def rows(graph: str) -> Rows:
    def read(sql: str) -> list[tuple[Any, ...]]:
        found = omnigraph_sql.connect(omnigraph.open(graph)).execute(sql)
        assert not isinstance(found, int)
        return [tuple(row.values()) for row in found.read_all().to_pylist()]

    return read


def test_every_kind_of_model_may_be_python(
    spark: object, address: str, tmp_path: Path, graph: str, rows: Rows
) -> None:
    built = with_python(a_project(tmp_path / "project", SQL, uri=address), PYTHON)
    built.write({"models/properties.yml": PROPERTIES})
    assert built.dbt("run", "--select", "people").code == 0
    before = len(list(omnigraph.open(graph).commits()))

    first = built.dbt("run")

    assert first.code == 0, first.output
    assert len(list(omnigraph.open(graph).commits())) == before + 1
    assert rows("select id, age from analytics.aged order by id") == [(1, 211), (2, 120), (3, 114)]
    assert rows("select n from analytics.arrows order by n") == [(1,), (2,), (3,)]
    assert rows("select src, dst, since from edges.Knows order by since") == [
        ("1", "2", 1830),
        ("2", "3", 1940),
    ]
    assert rows("select count(*) from analytics.nobody") == [(0,)]
    known = omnigraph.open(graph).query(
        "query q() { match { $p knows $f } return { $f.name as name } }"
    )
    assert sorted(row["name"] for row in known.rows()) == ["Alan", "Grace"]

    again = built.dbt("run", "--select", "counted")

    assert again.code == 0, again.output
    assert rows("select id, name from analytics.counted order by id") == [
        (1, "Ada"),
        (2, "Grace"),
        (3, "Alan!"),
    ]
    left = rows("select table_name from information_schema.tables where table_name like '%dbt%'")
    assert left == []


def test_a_python_model_that_fails_says_where_and_publishes_nothing(
    spark: object, graph: str, tmp_path: Path, rows: Rows
) -> None:
    code = "def model(dbt, session):\n    dbt.ref('people')\n    return 1 / 0\n"
    built = with_python(a_project(tmp_path / "project", SQL, path=graph), {"broken": code})
    run = built.dbt("run")
    assert run.code == 1
    assert "ZeroDivisionError" in run.output
    assert "models/broken.py:3 in model" in run.output
    assert rows("select count(*) from information_schema.tables where table_name = 'people'") == [
        (0,)
    ]


def test_a_model_runs_with_no_server_and_must_return_rows(
    spark: object, graph: str, tmp_path: Path, rows: Rows
) -> None:
    built = with_python(a_project(tmp_path / "project", SQL, path=graph), {"aged": AGED})
    run = built.dbt("run")
    assert run.code == 0, run.output
    assert rows("select sum(age) from analytics.aged") == [(445,)]
    built.write({"models/aged.py": "def model(dbt, session):\n    return 7\n"})
    refused = built.dbt("run")
    assert refused.code == 1
    assert "returned int" in refused.output


def test_without_spark_the_error_says_what_to_install(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "omnigraph_spark", None)
    built = with_python(a_project(tmp_path / "project", SQL, path=graph), {"aged": AGED})
    run = built.dbt("run")
    assert run.code == 1
    assert "pip install 'dbt-omnigraph[spark]'" in run.output


@pytest.mark.dbt
@pytest.mark.timeout(900)
def test_python_models_run_on_a_spark_connect_server(
    address: str, tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a process of its own, which is a client only: Spark starts the server that it is asked for.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    place = {"uri": address, "spark_remote": "local[2]"}
    project = a_project(tmp_path / "project", SQL, **place)
    connected = "\n    assert type(session).__module__.startswith('pyspark.sql.connect')"
    opening = "def model(dbt, session):"
    aged = AGED.replace(opening, opening + connected)
    built = with_python(project, {"aged": aged, "person": PERSON, "nobody": NOBODY})
    run = ended(built.start("run"), seconds=800)
    assert run.code == 0, run.output
    assert rows("select sum(age) from analytics.aged") == [(445,)]
    assert rows("select count(*) from nodes.Person") == [(3,)]
    assert rows("select count(*) from analytics.nobody") == [(0,)]
