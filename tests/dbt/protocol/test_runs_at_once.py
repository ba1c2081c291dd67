"""Runs at once: disjoint ones both publish; of two on one model, the second is told and retries."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import Popen

from omnigraph import Graph
from support.dbt_projects import Project, ended
from support.waiting import wait_until

Projects = Callable[..., Project]
Read = Callable[..., list[tuple[object, ...]]]
Branches = Callable[[], list[str]]

# Nothing is published until somebody else has published the gate.
WAITS_FOR_GATE = """
{% macro wait_for_gate() %}
  {% set state = namespace(closed=true) %}
  {% for _ in range(3000) if execute and state.closed %}
    {% set gates = run_query(
      "select count(*) from main.information_schema.tables where table_name = 'gate'"
    ) %}
    {% set state.closed = gates.rows[0][0] == 0 %}
  {% endfor %}
{% endmacro %}
"""


def waiting_run(built: Project, branches: Branches) -> Popen[str]:
    """A run that has its branch, and publishes when the gate is there."""
    built.write(
        {
            "macros/gate.sql": WAITS_FOR_GATE,
            "dbt_project.yml": (built.root / "dbt_project.yml")
            .read_text()
            .replace("{", '{"on-run-end": ["{{ wait_for_gate() }}"], ', 1),
        }
    )
    running = built.start("run")
    wait_until(lambda: bool(branches()) or running.poll() is not None, seconds=240)
    assert running.poll() is None, ended(running).output
    return running


def test_runs_on_disjoint_models_both_publish(
    project: Projects, rows: Read, branches: Branches
) -> None:
    first = waiting_run(project("first", {"a": "select 1 as n"}), branches)
    second = project("second", {"gate": "select 2 as n"}).dbt("run")
    assert second.code == 0, second.output
    outcome = ended(first)
    assert outcome.code == 0, outcome.output
    assert rows("select a.n, gate.n from analytics.a, analytics.gate") == [(1, 2)]
    assert branches() == []


def test_of_two_runs_on_one_model_the_second_to_publish_fails_and_a_retry_succeeds(
    project: Projects, rows: Read, branches: Branches, graph: Graph
) -> None:
    mine = project("mine", {"shared": "select 'mine' as who", "other": "select 1 as n"})
    running = waiting_run(mine, branches)
    theirs = project("theirs", {"shared": "select 'theirs' as who", "gate": "select 1 as n"})
    published = theirs.dbt("run")
    assert published.code == 0, published.output

    refused = ended(running)
    assert refused.code == 1, refused.output
    assert mine.results()["model.project.shared"] == "error"
    assert "shared" in refused.last_line
    assert rows("select who from analytics.shared") == [("theirs",)]

    retried = mine.dbt("retry")
    assert retried.code == 0, retried.output
    assert rows("select who, n from analytics.shared, analytics.other") == [("mine", 1)]
    assert branches() == []
