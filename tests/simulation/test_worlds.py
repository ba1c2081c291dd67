"""Writers whose steps come in any order keep what they were told: a slice here, `make soak` long.

A failure prints its schedule; `OMNIGRAPH_SIMULATION='<world>: <schedule>'` repeats that run alone.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable

import pytest

from simulation.explore import Outcome, asked_for, at_random, bounded, staged, with_one_more_switch
from simulation.scheduler import Schedule
from simulation.worlds import WORLDS

SLICE, RANDOM = 10, 8
"""Runs of one world in `make test`: of those with one switch, and random ones with faults."""
LONG = int(os.environ.get("OMNIGRAPH_SIMULATION_RUNS", "1500"))
SEED = int(os.environ.get("OMNIGRAPH_SIMULATION_SEED", "0"))
NAMES = sorted(WORLDS)


def assert_sound(outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        assert not outcome.violations, str(outcome)


@pytest.mark.skipif(asked_for() is not None, reason="one run is asked for")
@pytest.mark.parametrize("name", NAMES)
def test_a_slice_of_all_orders(name: str) -> None:
    with staged(WORLDS[name]) as stage:
        in_turn = list(bounded(stage, 0))
        assert_sound(in_turn)
        switched = [schedule for outcome in in_turn for schedule in with_one_more_switch(outcome)]
        chosen = random.Random(f"{name} {SEED}").sample(switched, min(SLICE, len(switched)))
        assert_sound(map(stage.run, chosen))
        assert_sound(at_random(stage, SEED, RANDOM))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_all_orders_with_one_switch_and_many_at_random(name: str) -> None:
    with staged(WORLDS[name]) as stage:
        assert_sound(bounded(stage, 1))
        assert_sound(at_random(stage, random.randrange(1 << 32), LONG))


@pytest.mark.skipif(asked_for() is None, reason="no run is asked for")
def test_the_run_that_is_asked_for() -> None:
    asked = asked_for()
    assert asked is not None
    with staged(WORLDS[asked[0]]) as stage:
        assert_sound([stage.run(asked[1])])


def test_a_schedule_is_its_text() -> None:
    schedule = Schedule(("a", "b"), ((3, "b"), (9, "a")), ((4, "kill"), (7, "lost")))
    assert Schedule.parse(str(schedule)) == schedule


def test_a_schedule_repeats_its_run() -> None:
    with staged(WORLDS["collect-collect-write"]) as stage:
        for outcome in at_random(stage, 3, 3):
            assert stage.run(Schedule.parse(str(outcome.schedule))).steps == outcome.steps
