"""The example project builds, tests and documents a graph."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import omnigraph
import omnigraph_sql
from support.dbt_projects import Project

EXAMPLE = Path(__file__).parents[2] / "examples" / "dbt"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("OMNIGRAPH_PATH", str(tmp_path / "graph.omni"))
    return Project(Path(shutil.copytree(EXAMPLE, tmp_path / "project")))


def test_the_example_becomes_a_graph_and_a_broken_edge_leaves_it_alone(
    example: Project, tmp_path: Path
) -> None:
    built = example.dbt("build")
    assert built.code == 0, built.output

    graph = omnigraph.open(str(tmp_path / "graph.omni"))
    assert rows(graph, "select company, people from analytics.company_sizes order by 2") == [
        ("Eckert-Mauchly", 1),
        ("Analytical Engines", 2),
    ]
    assert rows(graph, "select count(*) from edges.Knows") == [(3,)]
    known = graph.query("query q() { match { $p knows $f } return { $f.name as name } }")
    assert sorted(row["name"] for row in known.rows()) == [
        "Charles Babbage",
        "Mary Somerville",
        "Mary Somerville",
    ]

    jobs = example.root / "seeds" / "jobs.csv"
    jobs.write_text(jobs.read_text() + "99,10,1900,ghost\n")
    broken = example.dbt("build", "--exclude-resource-type", "test")
    assert broken.code == 1, broken.output
    assert "Person '99' not found" in broken.last_line
    assert rows(graph, "select count(*) from edges.WorksAt") == [(3,)]


def test_the_catalog_has_types_and_tables(example: Project) -> None:
    assert example.dbt("build").code == 0
    documented = example.dbt("docs", "generate")
    assert documented.code == 0, documented.output
    catalog = json.loads((example.root / "target" / "catalog.json").read_text())["nodes"]
    assert list(catalog["model.people.works_at"]["columns"]) == [
        "id",
        "src",
        "dst",
        "since",
        "title",
    ]
    sizes = catalog["model.people.company_sizes"]
    assert sizes["metadata"]["comment"] == "How many people work where."
    assert sizes["columns"]["people"]["comment"] == "How many work there."


def rows(graph: omnigraph.Graph, sql: str) -> list[tuple[object, ...]]:
    found = omnigraph_sql.connect(graph).execute(sql)
    assert not isinstance(found, int)
    return [tuple(row.values()) for row in found.read_all().to_pylist()]
