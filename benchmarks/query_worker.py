"""A system in a process of its own, so that none disturbs another, and all can be asked in turns.

(Kuzu and Ladybug cannot even be imported into one process.)
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.query_cypher import KgLite, Kuzu, Ladybug
from benchmarks.query_data import Data, kept
from benchmarks.query_lines import LINES
from benchmarks.query_sql import DuckDb, Sqlite
from benchmarks.query_systems import OmniGraph, System

SYSTEMS: tuple[type[System], ...] = (OmniGraph, DuckDb, Sqlite, Kuzu, Ladybug, KgLite)
TURN = 0.03
"""Seconds that a turn takes, if one answer takes less."""


@dataclass(frozen=True)
class Checked:
    """The first answer to a line: how long it took, and what is wrong with it, if anything is."""

    milliseconds: float
    problem: str | None
    supported: bool = True

    @property
    def timed(self) -> bool:
        return self.supported and self.problem is None


class Worker:
    """The near end of a process in which one system is loaded."""

    def __init__(self, system: type[System], kept_in: Path, scale: float, folder: Path) -> None:
        self.name, self.seeds = system.name, system.seeds
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(far, SYSTEMS.index(system), kept_in, scale, folder), daemon=True
        )
        self._process.start()
        far.close()
        self.load_seconds = float(self._answer())

    def check(self, line: str) -> Checked:
        checked: Checked = self._ask("check", line)
        return checked

    def turn(self, line: str, answers: int) -> float:
        """The median of some answers in a row, in milliseconds."""
        return float(self._ask("turn", line, answers))

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.terminate()

    def _ask(self, *question: object) -> Any:  # noqa: ANN401
        self._pipe.send(question)
        return self._answer()

    def _answer(self) -> Any:  # noqa: ANN401
        try:
            return self._pipe.recv()
        except EOFError as error:
            raise RuntimeError(f"{self.name} has died") from error


def _serve(pipe: Connection, number: int, kept_in: Path, scale: float, folder: Path) -> None:
    """The far end."""
    data = kept(kept_in, scale)
    system = SYSTEMS[number]()
    started = time.perf_counter()
    system.load(data, folder)
    pipe.send(time.perf_counter() - started)
    while True:
        try:
            verb, key, *rest = pipe.recv()
        except EOFError:
            return
        pipe.send(_check(system, data, key) if verb == "check" else _turn(system, key, *rest))


def _check(system: System, data: Data, key: str) -> Checked:
    ask = system.question(key)
    if ask is None:
        return Checked(0, None, supported=False)
    (line,) = (line for line in LINES if line.key == key)
    try:
        started = time.perf_counter()
        result = ask()
        took = (time.perf_counter() - started) * 1000
        return Checked(took, line.wrong(data, system.rows(result)))
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        return Checked(0, f"{type(error).__name__}: {str(error)[:200]}")


def _turn(system: System, key: str, answers: int) -> float:
    ask = system.question(key)
    assert ask is not None
    ask()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < answers and (not times or time.perf_counter() - begun < TURN):
        started = time.perf_counter()
        ask()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)
