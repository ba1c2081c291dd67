"""Runs that end early, in whatever way, publish nothing and say what can be done."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from omnigraph_flight.server import Server
from support.dbt_projects import Project, ended
from support.waiting import wait_until

Projects = Callable[..., Project]
Read = Callable[..., list[tuple[object, ...]]]
Branches = Callable[[], list[str]]

FAILING = "select cast('not a number' as int) as n"
LONG = (
    "with d(v) as (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) "
    f"select sum(a.v + b.v * c.v) as n from {', '.join(f'd {name}' for name in 'abcdefghi')}"
)
TABLES = "select table_name from information_schema.tables where table_schema = 'analytics'"


def test_an_interrupt_stops_the_statements_and_keeps_the_branch(
    project: Projects, server: Server, rows: Read, branches: Branches
) -> None:
    models = {"a": "select 1 as n", "long_one": LONG, "z": "select 3 as n"}
    built = project("interrupted", models, threads=1)
    # Whatever started the tests may have had interrupts ignored, and a child would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = built.start("run")
    wait_until(lambda: bool(branches()) or running.poll() is not None, seconds=120)
    wait_until(lambda: "a" in _tables_of(rows, branches) or running.poll() is not None, seconds=60)
    assert running.poll() is None, ended(running).output

    running.send_signal(signal.SIGINT)
    interrupted = ended(running)

    assert interrupted.code not in (0, -signal.SIGINT), interrupted.output
    assert rows(TABLES) == []
    (kept,) = branches()
    assert kept in interrupted.last_line
    assert "main is unchanged" in interrupted.last_line
    assert server.service.admission.idle(120)

    # dbt forgets what never ran; the branch is not published without it.
    built.write({"models/long_one.sql": "select 2 as n"})
    retried = built.dbt("retry")
    assert retried.code != 0, retried.output
    assert rows(TABLES) == []
    assert "model.project.z" in retried.output
    assert "run the command again" in retried.output

    assert built.dbt("run").code == 0
    assert rows("select n from analytics.z") == [(3,)]


def test_fail_fast_publishes_nothing(project: Projects, rows: Read, branches: Branches) -> None:
    built = project("fast", {"a": "select 1 as n", "b": FAILING, "c": "select 1 as n"}, threads=1)
    run = built.dbt("run", "--fail-fast")
    assert run.code == 1
    assert rows(TABLES) == []
    (kept,) = branches()
    assert kept in run.last_line
    built.write({"models/b.sql": "select 1 as n"})
    retried = built.dbt("retry")
    assert retried.code == 0, retried.output
    assert len(rows(TABLES)) == 3


@pytest.mark.parametrize("hook", ["on-run-start", "on-run-end"])
def test_a_failing_hook_of_the_run_publishes_nothing(
    hook: str, project: Projects, rows: Read, branches: Branches
) -> None:
    built = project("hooked", {"a": "select 1 as n"})
    settings = built.root / "dbt_project.yml"
    settings.write_text(settings.read_text().replace("{", f'{{"{hook}": ["{FAILING}"], ', 1))
    run = built.dbt("run")
    assert run.code == 1, run.output
    assert rows(TABLES) == []
    (kept,) = branches()
    assert kept in run.last_line


def test_a_failing_hook_of_a_model_publishes_nothing(
    project: Projects, rows: Read, branches: Branches
) -> None:
    hooked = '{{ config(post_hook="' + FAILING + '") }} select 1 as n'
    built = project("hooked", {"a": hooked})
    run = built.dbt("run")
    assert run.code == 1, run.output
    assert rows(TABLES) == []
    assert len(branches()) == 1


def test_a_retry_mends_what_only_the_publish_refused(
    project: Projects, rows: Read, branches: Branches
) -> None:
    edge = (
        "{{ config(materialized='edge', type_name='Knows', from_type='Person', to_type='Person') }}"
        " select 'a' as src, 'b' as dst -- {{ ref('person') }}"
    )
    person = "{{ config(materialized='node', type_name='Person') }} select 'a' as id"
    built = project("orphans", {"knows": edge, "person": person})
    refused = built.dbt("run")
    assert refused.code == 1, refused.output
    assert "Person 'b' not found" in refused.last_line

    assert branches() != []

    built.write({"models/person.sql": person + " union all select 'b'"})
    retried = built.dbt("retry")

    assert retried.code == 0, retried.output
    assert rows("select src, dst from edges.Knows") == [("a", "b")]
    assert branches() == []


def _tables_of(rows: Read, branches: Branches) -> set[object]:
    time.sleep(0.1)
    return {row[0] for name in branches() for row in rows(TABLES, branch=name)}
