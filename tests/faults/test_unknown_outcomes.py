"""Answers that never come and stores that falter: nothing is lost, doubled or wrongly claimed.

A commit is one conditional PUT. When its answer is lost, the writer cannot know what happened; it
must find out, or say that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import StorageError, UnsafeStore
from omnigraph.storage.core.object_store import RawStore, storage_options
from support.fixtures import unique_uri, use_environment
from support.http_wire import Request
from support.ledger import Outcomes, assert_ledger, ledger_graph
from support.object_stores import ObjectStore
from support.policies import DropResponses, Fail503, is_any
from support.proxy import proxied
from support.social import SOCIAL, add_person, people, social_graph
from support.worker_processes import run_together, workers

pytestmark = [pytest.mark.s3, pytest.mark.slow]

Faults = Callable[[], list[DropResponses | Fail503]]

FAULTS: dict[str, Faults] = {
    "the answer is lost": lambda: [DropResponses(0.3, when="after", seed=1)],
    "the request is lost": lambda: [DropResponses(0.3, when="before", seed=2)],
    "503 before the work": lambda: [Fail503(0.3, when="before", seed=3)],
    "503 after the work": lambda: [Fail503(0.3, when="after", seed=4)],
}


def everything() -> list[DropResponses | Fail503]:
    return [
        DropResponses(0.15, when="before", seed=5),
        DropResponses(0.15, when="after", seed=6),
        Fail503(0.1, when="before", seed=7),
        Fail503(0.1, when="after", seed=8),
    ]


@dataclass(frozen=True)
class Place:
    store: ObjectStore
    root: str


@pytest.fixture(params=["moto", "seaweed"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    store: ObjectStore = request.getfixturevalue(f"{request.param}_store")
    use_environment(monkeypatch, store)
    return Place(store, unique_uri())


def outcomes_through(
    place: Place, faults: list[DropResponses | Fail503], writers: int, writes: int
) -> Outcomes:
    """Write through a faulty proxy, then judge the graph through a good connection."""
    graph = ledger_graph(place.root)
    asked = [{"root": place.root, "name": f"w{i}", "writes": writes} for i in range(writers)]
    with (
        proxied(place.store, *faults) as proxy,
        workers("writer", asked, proxy.store.environment()) as running,
    ):
        run_together(running)
        outcomes = Outcomes.of(running)
    assert all(fault.hits for fault in faults), "a fault never happened"
    settled = len(outcomes.acknowledged) + len(outcomes.refused) + len(outcomes.in_doubt)
    assert settled == writers * writes
    assert_ledger(graph, outcomes)
    return outcomes


@pytest.mark.parametrize("fault", FAULTS)
def test_one_writer(place: Place, fault: str) -> None:
    outcomes = outcomes_through(place, FAULTS[fault](), writers=1, writes=10)
    assert not outcomes.refused, outcomes.refused
    assert len(outcomes.acknowledged) > 5


def test_four_writers_and_every_fault(place: Place) -> None:
    outcomes = outcomes_through(place, everything(), writers=4, writes=5)
    assert not outcomes.refused, outcomes.refused
    assert len(outcomes.acknowledged) > 10


def test_faults_on_every_kind_of_request(place: Place) -> None:
    """Reads, listings, data files and the versions of tables falter as well as the manifest's."""
    faults: list[DropResponses | Fail503] = [
        DropResponses(0.04, is_any, when="after", seed=9),
        Fail503(0.04, is_any, when="before", seed=10),
        Fail503(0.02, is_any, when="after", seed=11),
    ]
    outcomes = outcomes_through(place, faults, writers=2, writes=6)
    assert len(outcomes.acknowledged) > 5


@pytest.mark.parametrize("lost", range(1, 4))
def test_the_probe_knows_its_own_file(
    moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """The client sends a PUT again whose answer was lost, and meets what it wrote itself."""
    drop = DropResponses(1.0, is_probe, when="after", limit=lost)
    with proxied(moto_store, drop) as proxy:
        use_environment(monkeypatch, proxy.store)
        social_graph(unique_uri(), people=["Ann"])
    assert len(drop.hits) == lost


def is_probe(request: Request) -> bool:
    return request.method == "PUT" and "/__probe/" in request.path


def test_a_new_file_knows_itself(moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = DropResponses(1.0, lambda request: request.method == "PUT", when="after", limit=1)
    root = unique_uri()
    with proxied(moto_store, drop) as proxy:
        use_environment(monkeypatch, proxy.store)
        raw = RawStore(root, storage_options())
        raw.write("a", b"mine")
        assert drop.hits
        with pytest.raises(StorageError):
            raw.write("a", b"another's")
        assert raw.read("a") == b"mine"


def test_a_store_that_ignores_conditions_is_refused(
    s3rver_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_environment(monkeypatch, s3rver_store)
    with pytest.raises(UnsafeStore):
        init(unique_uri(), SOCIAL)


def test_a_graph_on_such_a_store_can_be_read_but_not_written(
    s3rver_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_environment(monkeypatch, s3rver_store)
    root = unique_uri()
    with monkeypatch.context() as careless:
        careless.setattr(RawStore, "require_conditional_put", lambda _: None)
        social_graph(root, people=["Ann"])
    graph = open_graph(root)
    assert people(graph) == ["Ann"]
    for write in (
        lambda: add_person(graph, "Bob"),
        lambda: graph.create_branch("work"),
        graph.collect,
        lambda: graph.apply_schema(SOCIAL + "\nnode Pet { name: String @key }"),
    ):
        with pytest.raises(UnsafeStore):
            write()
    assert people(graph) == ["Ann"]
