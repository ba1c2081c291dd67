"""What the steps of a match cost: rows and time, gathered while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.exec.graph.bindings import Bindings


def rows_shown(count: int) -> str:
    """A number of rows in words."""
    return f"{count:,} {'row' if count == 1 else 'rows'}"


@dataclass
class StepCost:
    """Rows that came out of a step, and seconds spent in it and in the steps before it."""

    rows: int = 0
    seconds: float = 0.0


@dataclass
class Trace:
    """Costs by step. Steps are distinguished by identity: a plan holds each of them once."""

    costs: dict[int, StepCost] = field(default_factory=dict)
    before: dict[int, int | None] = field(default_factory=dict)

    def watch(
        self, step: object, previous: object | None, chunks: Iterator[Bindings]
    ) -> Iterator[Bindings]:
        """The same chunks, counted and timed."""
        cost = self.costs.setdefault(id(step), StepCost())
        self.before[id(step)] = None if previous is None else id(previous)
        while True:
            begun = time.perf_counter()
            rows = next(chunks, None)
            cost.seconds += time.perf_counter() - begun
            if rows is None:
                return
            cost.rows += rows.count
            yield rows

    def of(self, step: object) -> str:
        """The cost of a step alone, in words."""
        cost = self.costs.get(id(step))
        if cost is None:
            return "not run row by row"
        previous = self.before.get(id(step))
        earlier = self.costs[previous].seconds if previous is not None else 0.0
        return f"{rows_shown(cost.rows)}, {max(cost.seconds - earlier, 0.0) * 1e3:.2f} ms"
