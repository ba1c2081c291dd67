"""A small write into a large table costs what one into a small table does, at any depth.

The table was loaded at once, so that its rows are in one large fragment; the first small write
built its index. A lookup then reads a leaf of the index where it was not read before: two requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import pytest

import omnigraph
from cost.measuring import WARM_UP, WINDOW, Cost, LargeHistories, Meter, upload
from omnigraph import Graph
from support.fixtures import unique_uri
from support.object_stores import ObjectStore
from support.proxy import proxied

ROWS = 100_000
DEPTHS = [10, 100, pytest.param(1000, marks=pytest.mark.slow)]
MOST_REQUESTS = 14

INSERT = {
    ("LIST", "_versions"): 3,
    ("GET", "_versions"): 1,
    ("PUT", "data"): 2,
    ("PUT", "_deletions"): 1,
    ("PUT", "_transactions"): 2,
    ("PUT", "_versions"): 2,
}
"""Lance reads the list of indexes of the version that it builds the next one from."""
UPDATE = INSERT | {("PUT", "_deletions"): 2}
COMPACTIONS = {("POST", "other"): 1, ("PUT", "_deletions"): -1}
"""A write that compacts the manifest deletes old versions of it instead of marking a row."""
LEAF = 2


@dataclass(frozen=True)
class Writes:
    updates: list[Cost]
    inserts: list[Cost]
    again: list[Cost]
    """Rows that this process has just written."""


class Measure(Protocol):
    def __call__(self, depth: int) -> Writes: ...


@pytest.fixture(scope="module")
def measured(
    seaweed_store: ObjectStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Measure]:
    histories = LargeHistories(tmp_path_factory.mktemp("large"), ROWS)
    with proxied(seaweed_store) as proxy:

        @cache
        def at(depth: int) -> Writes:
            uri = unique_uri()
            upload(histories.at(depth), seaweed_store, uri)
            graph = omnigraph.open(uri, storage_options=proxy.store.storage_options())
            for number in range(depth, depth + WARM_UP):
                histories.update(graph, number)
            meter = Meter(proxy)
            numbers = iter(range(depth + WARM_UP, depth + 10 * WINDOW))
            updates = [
                meter.cost_of(lambda: histories.update(graph, next(numbers))) for _ in range(WINDOW)
            ]
            inserts = [
                meter.cost_of(lambda: histories.insert(graph, next(numbers)))
                for _ in range(WARM_UP)
            ]
            last = next(numbers)
            again = [meter.cost_of(lambda: histories.update(graph, last)) for _ in range(8)][1:]
            _check(graph, histories, depth)
            return Writes(updates, inserts, again)

        yield at


def _check(graph: Graph, histories: LargeHistories, depth: int) -> None:
    snapshot = graph.snapshot()
    assert snapshot.count("Person") == ROWS + WARM_UP
    row = snapshot.get("Person", histories.name((depth + WARM_UP) * histories.STRIDE))
    assert row is not None
    assert row["age"] == depth + WARM_UP


pytestmark = [pytest.mark.s3, pytest.mark.xdist_group("cost")]


@pytest.mark.parametrize("depth", DEPTHS)
def test_no_warm_upsert_takes_more_than_fourteen_requests(measured: Measure, depth: int) -> None:
    writes = measured(depth)
    worst = max([*writes.updates, *writes.inserts, *writes.again], key=lambda c: c.requests)
    assert worst.requests <= MOST_REQUESTS, str(worst)


@pytest.mark.parametrize("depth", DEPTHS)
def test_upserts_take_the_same_requests_at_any_depth(measured: Measure, depth: int) -> None:
    writes = measured(depth)
    for costs, shape in ((writes.updates, UPDATE), (writes.inserts, INSERT)):
        for cost in costs:
            assert _beside_leaves(cost) in (shape, _folding(shape)), str(cost)
            assert cost.shape.get(("GET", "_indices"), 0) <= LEAF


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_row_in_a_small_fragment_is_not_looked_for_in_the_large_one(
    measured: Measure, depth: int
) -> None:
    assert not any(("GET", "_indices") in cost.shape for cost in measured(depth).again)


def _beside_leaves(cost: Cost) -> dict[tuple[str, str], int]:
    return {what: n for what, n in cost.shape.items() if what != ("GET", "_indices")}


def _folding(shape: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """The shape of a write that compacts the manifest."""
    changed = {what: shape.get(what, 0) + n for what, n in COMPACTIONS.items()}
    return {what: n for what, n in (shape | changed).items() if n}
