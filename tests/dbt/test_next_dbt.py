"""The next minor version of dbt: a smoke run, in the environment of `make test-dbt-next`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import omnigraph
import omnigraph_sql
from support.dbt_projects import Project, a_project, ended

PYTHON = os.environ.get("OMNIGRAPH_DBT_NEXT", "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    if not Path(PYTHON).is_file():
        pytest.skip("no environment with the next dbt: `make test-dbt-next` makes one")
    asked = "import importlib.metadata as m; print(m.version('dbt-core'))"
    version = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("1.12."), version.stdout
    models = {
        "a": "select 1 as n",
        "z": "select cast('not a number' as int) as n from {{ ref('a') }}",
        "person": "{{ config(materialized='node', type_name='Person') }} select 'ada' as id",
    }
    built = a_project(tmp_path / "project", models, path=str(tmp_path / "graph.omni"))
    return Project(built.root, PYTHON)


@pytest.mark.dbt
@pytest.mark.timeout(600)
def test_the_next_dbt_keeps_a_failed_run_and_publishes_its_retry(
    project: Project, tmp_path: Path
) -> None:
    failed = ended(project.start("build"))
    assert failed.code == 1, failed.output
    assert "main is unchanged" in failed.last_line
    graph = omnigraph.open(str(tmp_path / "graph.omni"))
    (kept,) = (branch.name for branch in graph.branches() if branch.name.startswith("dbt/"))
    assert kept in failed.last_line
    before = len(list(graph.commits()))

    project.write({"models/z.sql": "select n + 1 as n from {{ ref('a') }}"})
    retried = ended(project.start("retry"))

    assert retried.code == 0, retried.output
    assert project.results() == {"model.project.z": "success"}
    graph = omnigraph.open(str(tmp_path / "graph.omni"))
    assert len(list(graph.commits())) == before + 1
    found = omnigraph_sql.connect(graph).execute(
        "select z.n, p.id from analytics.z, nodes.Person p"
    )
    assert not isinstance(found, int)
    assert found.read_all().to_pylist() == [{"n": 2, "id": "ada"}]
    documented = ended(project.start("docs", "generate"))
    assert documented.code == 0, documented.output
