"""Runs of a world under many schedules: all with few switches, then random ones."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import omnigraph
from omnigraph.storage.core import failpoints
from simulation.doors import scheduled
from simulation.ledger import Ledger
from simulation.scheduler import FAULTS, Actor, FaultKind, Schedule, Scheduler, Step, told
from simulation.worlds import Script, Session, World

REPEAT = "OMNIGRAPH_SIMULATION"
"""`<world>: <schedule>`: run this and nothing else."""

PASSIVE = frozenset({"start", "pause", *failpoints.NAMES})
"""Steps before which nothing of the store is looked at or changed."""


@dataclass(frozen=True)
class Outcome:
    """A run: what it did, and what is wrong with what it left."""

    world: str
    schedule: Schedule
    steps: tuple[Step, ...]
    violations: tuple[str, ...]

    def __str__(self) -> str:
        found = "\n".join(f"  {each}" for each in self.violations)
        repeat = f"{REPEAT}='{self.world}: {self.schedule}'"
        return f"{found}\nrepeat it with {repeat}\n{told(self.steps)}"


class Stage:
    """A world with its graph prepared once; every run has a copy."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self._folder = folder
        self._prepared = folder / "prepared"
        self._known = Ledger()
        if world.prepare is not None:
            world.prepare(Session(Actor("setup", lambda _: None), str(self._prepared), self._known))

    def run(self, schedule: Schedule) -> Outcome:
        """One run, and the oracle's judgement of it."""
        root = Path(tempfile.mkdtemp(dir=self._folder)) / "graph"
        try:
            if self.world.prepare is not None:
                shutil.copytree(self._prepared, root)
            return self._run(schedule, str(root))
        finally:
            shutil.rmtree(root.parent)

    def _run(self, schedule: Schedule, root: str) -> Outcome:
        ledger = self._known.begun()

        def script(name: str, act: Script) -> object:
            opened = omnigraph.open(root) if name in self.world.opened else None
            return lambda actor: act(Session(actor, root, ledger, opened))

        scripts = {name: script(name, act) for name, act in self.world.actors.items()}
        scheduler = Scheduler(scripts, schedule)  # type: ignore[arg-type]
        for name, skew in self.world.skews.items():
            scheduler.actors[name].skew = skew
        for name, fault in self.world.faults.items():
            scheduler.actors[name].next_swap = fault
            scheduler.actors[name].faults = 1
        with scheduled(scheduler):
            scheduler.run()
        errors = [f"{a.name} failed: {a.error!r}" for a in scheduler.actors.values() if a.error]
        return Outcome(
            self.world.name,
            schedule,
            tuple(scheduler.steps),
            (*errors, *_judged(self.world, ledger, root)),
        )


def _judged(world: World, ledger: Ledger, root: str) -> list[str]:
    try:
        graph = omnigraph.open(root)
    except omnigraph.errors.NotFound:
        return ["the graph is gone"] if ledger.created or world.prepare else []
    except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
        return [f"the graph cannot be opened: {error!r}"]
    found = [*ledger.violations(graph), *world.check(graph)]
    for place in ledger.backups:
        restored = f"{place}-restored"
        try:
            omnigraph.restore(place, restored)
            found += [f"backup: {each}" for each in ledger.copied(omnigraph.open(restored))]
        except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
            found.append(f"the backup cannot be restored: {error!r}")
    return found


@contextmanager
def staged(world: World) -> Iterator[Stage]:
    """A world in a folder of its own."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # syncs cost nothing there
    with tempfile.TemporaryDirectory(prefix="omnigraph-simulation-", dir=memory) as folder:
        yield Stage(world, Path(folder))


def bounded(stage: Stage, switches: int) -> Iterator[Outcome]:
    """All runs with up to so many switches in the middle of an actor, in every order of actors."""
    schedules = [Schedule(order) for order in itertools.permutations(stage.world.actors)]
    for _ in range(switches + 1):
        outcomes = [stage.run(schedule) for schedule in schedules]
        yield from outcomes
        schedules = [longer for outcome in outcomes for longer in with_one_more_switch(outcome)]


def with_one_more_switch(outcome: Outcome) -> Iterator[Schedule]:
    """The schedules of a run with another switch after its last.

    Only before steps that touch the store: at any other the same would come of it. Never where an
    actor begins or has ended, which another order of the actors gives.
    """
    steps, schedule = outcome.steps, outcome.schedule
    last = schedule.switches[-1][0] if schedule.switches else 0
    for number in range(last + 1, len(steps)):
        now = steps[number]
        if now.actor != steps[number - 1].actor or now.point in PASSIVE:
            continue
        for name in schedule.order:
            if name != now.actor and any(step.actor == name for step in steps[number:]):
                yield replace(schedule, switches=(*schedule.switches, (number, name)))


def switched(stage: Stage, times: int, seed: int, runs: int) -> Iterator[Outcome]:
    """So many of the runs with a few switches, from any actor and with any order of the others."""
    random_ = random.Random(f"{stage.world.name} {seed}")
    names = tuple(stage.world.actors)
    for _ in range(runs):
        first, *others = random_.sample(names, len(names))
        outcome = stage.run(Schedule((*others, first), ((0, first),)))
        for _ in range(times):
            longer = list(with_one_more_switch(outcome))
            if longer:
                outcome = stage.run(random_.choice(longer))
        yield outcome


def random_schedule(random_: random.Random, names: tuple[str, ...], steps: int) -> Schedule:
    """A few switches and at most two faults, anywhere."""
    order = tuple(random_.sample(names, len(names)))
    points = sorted(random_.sample(range(1, steps), min(steps - 1, random_.randint(1, 8))))
    faults: list[tuple[int, FaultKind]] = [
        (random_.randrange(1, steps), random_.choice(FAULTS))
        for _ in range(random_.choice((0, 0, 1, 2)))
    ]
    return Schedule(
        order,
        tuple((point, random_.choice(names)) for point in points),
        tuple(sorted(dict(faults).items())),
    )


def at_random(stage: Stage, seed: int, runs: int) -> Iterator[Outcome]:
    """So many runs of a seed."""
    random_ = random.Random(f"{stage.world.name} {seed}")
    names = tuple(stage.world.actors)
    steps = 30
    for _ in range(runs):
        outcome = stage.run(random_schedule(random_, names, steps))
        steps = max(steps, len(outcome.steps))
        yield outcome


def asked_for() -> tuple[str, Schedule] | None:
    """The one run that the environment asks for."""
    world, _, schedule = os.environ.get(REPEAT, "").partition(":")
    return (world, Schedule.parse(schedule)) if schedule else None
