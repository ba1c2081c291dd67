"""The target holds what the last success made, whole, until the next success has it replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from omnigraph import Graph
from support.dbt_projects import Project

Projects = Callable[..., Project]
Read = Callable[..., list[tuple[object, ...]]]
Branches = Callable[[], list[str]]

GENERATION = "select {{ var('generation') }} as generation"
FAILING = "select cast('not a number' as int) as generation from {{ ref('a') }}"


def test_a_success_is_one_commit_of_the_target(
    project: Projects, graph: Graph, rows: Read, branches: Branches
) -> None:
    built = project("one", {"a": "select 1 as n", "b": "select n + 1 as n from {{ ref('a') }}"})
    before = len(list(graph.commits()))

    run = built.dbt("run")

    assert run.code == 0, run.output
    assert rows("select n from analytics.b") == [(2,)]
    assert branches() == []
    assert len(list(graph.commits())) == before + 1
    assert "Published dbt/" in run.last_line


def test_a_reader_sees_the_old_state_until_the_end_and_then_the_whole_new_one(
    project: Projects, rows: Read
) -> None:
    names = [f"m{i:02}" for i in range(30)]
    built = project("thirty", dict.fromkeys(names, GENERATION), threads=8)
    assert built.dbt("run", "--vars", "generation: 1").code == 0
    with polling(rows, _state_of(names)) as seen:
        run = built.dbt("run", "--vars", "generation: 2")
    assert run.code == 0, run.output
    states = [state for i, state in enumerate(seen) if i == 0 or state != seen[i - 1]]
    assert states == [((1, 30),), ((2, 30),)]


def test_a_run_whose_last_model_fails_changes_nothing_that_a_reader_sees(
    project: Projects, rows: Read, branches: Branches
) -> None:
    names = ["a", *(f"m{i:02}" for i in range(29))]
    built = project("failing", dict.fromkeys(names, GENERATION), threads=8)
    assert built.dbt("run", "--vars", "generation: 1").code == 0
    last = FAILING + " -- after " + " ".join(f"{{{{ ref('{name}') }}}}" for name in names)
    built.write({"models/z.sql": last})
    with polling(rows, _state_of(names)) as seen:
        run = built.dbt("run", "--vars", "generation: 2")
    assert run.code == 1
    assert set(seen) == {((1, 30),)}
    (kept,) = branches()
    assert kept in run.last_line
    assert "main is unchanged" in run.last_line
    assert rows(_state_of(names), branch=kept) == [(2, 30)]


def test_a_retry_goes_on_with_the_branch_that_was_kept(
    project: Projects, rows: Read, branches: Branches, graph: Graph
) -> None:
    built = project("retried", {"a": "select 1 as generation", "z": FAILING})
    assert built.dbt("run").code == 1
    built.write({"models/z.sql": "select generation from {{ ref('a') }}"})
    before = len(list(graph.commits()))

    retried = built.dbt("retry")

    assert retried.code == 0, retried.output
    assert built.results() == {"model.project.z": "success"}
    assert rows("select a.generation, z.generation from analytics.a, analytics.z") == [(1, 1)]
    assert branches() == []
    assert len(list(graph.commits())) == before + 1


def test_a_failing_test_keeps_what_it_tested_from_the_target(
    project: Projects, rows: Read, branches: Branches
) -> None:
    built = project("tested", {"a": GENERATION})
    built.write({"tests/first.sql": "select * from {{ ref('a') }} where generation > 1"})
    assert built.dbt("build", "--vars", "generation: 1").code == 0
    assert built.dbt("build", "--vars", "generation: 2").code == 1
    assert rows("select generation from analytics.a") == [(1,)]
    assert len(branches()) == 1


def test_a_test_that_only_warns_lets_the_run_publish(project: Projects, rows: Read) -> None:
    built = project("warned", {"a": GENERATION})
    built.write({"tests/w.sql": "{{ config(severity='warn') }} select * from {{ ref('a') }}"})
    assert built.dbt("build", "--vars", "generation: 1").code == 0
    assert rows("select generation from analytics.a") == [(1,)]


def test_commands_that_only_read_make_no_branch(project: Projects, graph: Graph) -> None:
    built = project("read", {"a": "select 1 as n"})
    assert built.dbt("run").code == 0
    before = [branch.commit for branch in graph.branches(hidden=True)]
    shown = built.dbt("show", "--select", "a")
    assert shown.code == 0, shown.output
    assert "branch" not in shown.output
    assert [branch.commit for branch in graph.branches(hidden=True)] == before


def test_a_manual_publish_is_a_command_of_its_own(
    project: Projects, rows: Read, branches: Branches
) -> None:
    built = project("manual", {"a": "select 1 as n"}, publish="manual", run_branch="dbt/staging")
    assert built.dbt("run").code == 0
    assert branches() == ["dbt/staging"]
    assert rows("select count(*) from information_schema.tables where table_name = 'a'") == [(0,)]
    listed = built.dbt("run-operation", "omnigraph_list_branches")
    assert "dbt/staging" in listed.output
    published = built.dbt("run-operation", "omnigraph_publish", "--args", "{branch: dbt/staging}")
    assert published.code == 0, published.output
    assert rows("select n from analytics.a") == [(1,)]
    assert branches() == []


def test_a_branch_can_be_dropped_by_name(project: Projects, branches: Branches) -> None:
    built = project("dropped", {"a": "select 1 as n"}, publish="manual")
    assert built.dbt("run").code == 0
    assert branches() == ["dbt/dev"]
    dropped = built.dbt("run-operation", "omnigraph_drop_branch", "--args", "{branch: dbt/dev}")
    assert dropped.code == 0, dropped.output
    assert branches() == []


def test_direct_mode_writes_to_the_target_itself(
    project: Projects, rows: Read, branches: Branches
) -> None:
    built = project("direct", {"a": "select 1 as generation", "z": FAILING}, publish="direct")
    assert built.dbt("run").code == 1
    assert rows("select generation from analytics.a") == [(1,)]
    assert branches() == []


def test_branches_say_whose_they_are_and_until_when(project: Projects, graph: Graph) -> None:
    built = project("owned", {"a": "select 1 as n", "z": FAILING}, branch_ttl="2d")
    assert built.dbt("run").code == 1
    (kept,) = (branch for branch in graph.branches() if branch.name.startswith("dbt/"))
    assert kept.owner == f"dbt {kept.name.removeprefix('dbt/')}"
    assert kept.expires is not None


def _state_of(names: list[str]) -> str:
    models = " union all ".join(f"select generation from analytics.{name}" for name in names)
    return f"select generation, count(*) from ({models}) group by generation order by generation"


@contextmanager
def polling(rows: Read, sql: str) -> Iterator[list[tuple[tuple[object, ...], ...]]]:
    """What a reader of the target sees again and again, from before the block until after it."""
    seen = [tuple(rows(sql))]
    over = threading.Event()

    def poll() -> None:
        while not over.is_set():
            seen.append(tuple(rows(sql)))
            over.wait(0.05)

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        yield seen
    finally:
        over.set()
        reader.join()
        seen.append(tuple(rows(sql)))
