"""A cooperative scheduler: actors are threads of which exactly one runs, from one step to the next.

What happens is decided by a `Schedule` alone, so that its text repeats a run. An actor runs until
it ends unless the schedule switches, which is how people read interleavings and how bounded search
enumerates them: few switches find most races.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

FaultKind = Literal["kill", "lost", "failed"]
"""`kill`: the actor's process ends here. `lost`: its next swap lands, and its answer is lost.
`failed`: its next swap does not reach the store."""
FAULTS: tuple[FaultKind, ...] = ("kill", "lost", "failed")
WAIT_SECONDS = 120.0
"""A step that takes longer hangs: a lock that two actors share, which real processes would not."""


class Killed(BaseException):
    """The end of a killed actor. Not an `Exception`: no handler of the engine may go on from it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who goes first, and at which steps another actor goes on or a fault happens."""

    order: tuple[str, ...]
    """The actors; the first that can run does, when nobody is under way."""
    switches: tuple[tuple[int, str], ...] = ()
    faults: tuple[tuple[int, FaultKind], ...] = ()

    def __str__(self) -> str:
        switches = [f"{step}>{name}" for step, name in self.switches]
        return " ".join([",".join(self.order), *switches, *(f"{s}!{k}" for s, k in self.faults)])

    @classmethod
    def parse(cls, text: str) -> Schedule:
        order, *rest = text.split()
        switches = [m.groups() for m in (re.fullmatch(r"(\d+)>(\w+)", each) for each in rest) if m]
        faults = [(n, k) for each in rest if "!" in each for n, _, k in [each.partition("!")]]
        return cls(
            tuple(order.split(",")),
            tuple((int(step), name) for step, name in switches),
            tuple((int(step), kind) for step, name in faults for kind in FAULTS if kind == name),
        )


@dataclass(eq=False)
class Actor:
    """One writer: a thread that waits at every step until it is its turn."""

    name: str
    script: Callable[[Actor], None]
    point: str = "start"
    """The step that it waits before."""
    killed: bool = False
    next_swap: FaultKind | None = None
    faults: int = 0
    """How many it met."""
    error: BaseException | None = None
    skew: float = 0.0
    """Seconds that its clock is ahead."""
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What a run did: who went on, from which point."""

    actor: str
    point: str

    def __str__(self) -> str:
        return f"{self.actor} {self.point}"


class Scheduler:
    """Runs actors by one schedule."""

    def __init__(self, scripts: Mapping[str, Callable[[Actor], None]], schedule: Schedule) -> None:
        self._schedule = schedule
        self.actors = {name: Actor(name, scripts[name]) for name in schedule.order}
        self._by_thread: dict[int, Actor] = {}
        self._stepped = threading.Semaphore(0)
        self.steps: list[Step] = []

    def current(self) -> Actor | None:
        """The actor whose thread this is."""
        return self._by_thread.get(threading.get_ident())

    def step(self, point: str) -> None:
        """Wait for the next turn; called by actors, and nothing in any other thread."""
        actor = self.current()
        if actor is None:
            return
        if not actor.killed:
            actor.point = point
            self._stepped.release()
            actor.turn.acquire()
        if actor.killed:
            raise Killed

    def run(self) -> None:
        """Let all actors run to their ends."""
        threads = [threading.Thread(target=self._live, args=(a,)) for a in self.actors.values()]
        for thread in threads:
            thread.start()
        switches, faults = dict(self._schedule.switches), dict(self._schedule.faults)
        under_way: Actor | None = None
        while able := [actor for actor in self.actors.values() if not actor.ended]:
            wanted = self.actors.get(switches.get(len(self.steps), ""))
            if wanted is not None and not wanted.ended:
                under_way = wanted
            elif under_way is None or under_way.ended:
                under_way = able[0]
            fault = faults.get(len(self.steps))
            if fault == "kill":
                under_way.killed = True
            elif fault is not None:
                under_way.next_swap = fault
                under_way.faults += 1
            point = under_way.point + (f" !{fault}" if fault else "")
            self.steps.append(Step(under_way.name, point))
            under_way.turn.release()
            if not self._stepped.acquire(timeout=WAIT_SECONDS):
                raise AssertionError(f"{under_way.name} hangs after {under_way.point}")
        for thread in threads:
            thread.join()

    def _live(self, actor: Actor) -> None:
        self._by_thread[threading.get_ident()] = actor
        actor.turn.acquire()
        try:
            if not actor.killed:
                actor.script(actor)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - the oracle judges it
            actor.error = error
        finally:
            actor.ended = True
            self._stepped.release()


def told(steps: Sequence[Step]) -> str:
    """A run for people: one line per stretch of an actor."""
    lines: list[str] = []
    last = None
    for number, step in enumerate(steps):
        if step.actor != last:
            lines.append(f"{number:4} {step.actor}:")
            last = step.actor
        lines[-1] += f" {step.point};"
    return "\n".join(lines)
