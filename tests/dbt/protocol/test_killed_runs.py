"""A dbt process that dies at any moment leaves the target as the last success made it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from omnigraph import Graph
from support.dbt_projects import Project
from support.waiting import wait_until

Projects = Callable[..., Project]
Read = Callable[..., list[tuple[object, ...]]]
Branches = Callable[[], list[str]]

MODELS = [f"m{i}" for i in range(8)]
STATE = " union ".join(f"select generation from analytics.{name}" for name in MODELS)


@pytest.mark.parametrize(
    "kills", [pytest.param(3, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.soak)]
)
@pytest.mark.timeout(1200)
def test_kills_leave_one_of_the_published_states_and_branches_that_are_collected(
    kills: int, project: Projects, rows: Read, branches: Branches, graph: Graph
) -> None:
    chance = random.Random(7)
    built = project("killed", dict.fromkeys(MODELS, GENERATION), branch_ttl="1s")
    assert built.dbt("run", "--vars", "generation: 0").code == 0
    published = 0
    for generation in range(1, kills + 1):
        before = branches()
        process = built.start("run", "--vars", f"generation: {generation}")
        wait_until(lambda: branches() != before or process.poll() is not None, seconds=120)  # noqa: B023
        time.sleep(chance.uniform(0, 2))
        process.kill()
        process.communicate()
        (state,) = rows(STATE)
        assert state in [(published,), (generation,)]
        published = int(str(state[0]))

    after = built.dbt("run", "--vars", f"generation: {kills + 1}")
    assert after.code == 0, after.output
    assert rows(STATE) == [(kills + 1,)]
    time.sleep(1.1)
    graph.collect()
    assert branches() == []


GENERATION = "select {{ var('generation') }} as generation"
