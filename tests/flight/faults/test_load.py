"""Many clients at once, some of them rude: no wrong answer, and nothing is left behind.

A slice of it runs with the other tests; the target `soak` runs 200 clients for two minutes.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from dataclasses import dataclass, field

import psutil
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import action, query, rows, run
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight.admission import Limits
from omnigraph_flight.messages import wrapped
from omnigraph_flight.running import Server
from support.social import assert_sound

MANY = (
    "WITH d(v) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) "
    "SELECT a.v FROM d a, d b, d c, d e, d f, d g"
)


@dataclass
class Seen:
    """What the clients report. The lock protects it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    written: int = 0
    done: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, written: int = 0) -> None:
        with self.lock:
            self.done += 1
            self.written += written


LONG = os.environ.get("OMNIGRAPH_PROFILE") == "soak"
CLIENTS, SECONDS = (200, 120.0) if LONG else (12, 6.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_mixed_load_leaves_nothing_behind(serve: Serve, graph: Graph) -> None:
    server = serve(limits=Limits(statements_per_user=64, wait_seconds=120.0))
    seen = Seen()
    _warm_up(server)
    memory, threads = _memory(), _threads()
    until = time.monotonic() + SECONDS
    running = [
        threading.Thread(target=_client, args=(server, seen, until, number))
        for number in range(CLIENTS)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert seen.wrong == []
    assert seen.done > CLIENTS
    assert graph.snapshot().count("Person") == 3 + seen.written

    service = server.service
    assert service.admission.idle(30)
    assert len(service.calls) == 0
    service.sessions.close_all(lambda error: seen.wrong.append(str(error)))
    assert seen.wrong == []
    assert len(service.sessions) == 0
    assert [b.name for b in graph.branches(hidden=True)] == ["main"], "no branch of a transaction"
    assert _threads() <= threads + 2, [t.name for t in threading.enumerate()]
    gc.collect()
    assert _memory() - memory < 400_000_000
    assert_sound(graph)


def _warm_up(server: Server) -> None:
    with fl.connect(server.uri) as client:
        for _ in range(3):
            query(client, MANY)


def _threads() -> int:
    """Threads besides those of pools: gRPC's, which are called Dummy here, and the engine's."""
    pools = ("Dummy", "omnigraph-stage")
    return sum(not thread.name.startswith(pools) for thread in threading.enumerate())


def _memory() -> int:
    return int(psutil.Process(os.getpid()).memory_info().rss)


def _client(server: Server, seen: Seen, until: float, number: int) -> None:
    chance = random.Random(number)
    actions = (_point, _scan, _write, _transaction, _cancel, _drop, _nonsense)
    try:
        while time.monotonic() < until:
            written = chance.choice(actions)(server, number, chance)
            seen.count(written)
    except Exception as error:  # noqa: BLE001 - told to the test
        with seen.lock:
            seen.wrong.append(f"{type(error).__name__}: {error}")


def _point(server: Server, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        for _ in range(5):
            n = chance.randrange(1000)
            assert query(client, f"SELECT {n} AS n").to_pydict() == {"n": [n]}
    return 0


def _scan(server: Server, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        assert query(client, MANY).num_rows == 1_000_000
    return 0


def _write(server: Server, number: int, chance: random.Random) -> int:
    with dbapi.connect(server.uri, autocommit=True) as client:
        name = f"{number} {chance.random()}"
        assert run(client, "INSERT INTO Person (name) VALUES (?)", name) == 1
        assert rows(client, "SELECT name FROM Person WHERE name = ?", name) == [(name,)]
    return 1


def _transaction(server: Server, number: int, chance: random.Random) -> int:
    """Begins, writes, and goes away."""
    with dbapi.connect(server.uri) as client:
        run(client, "INSERT INTO Person (name) VALUES (?)", f"never {chance.random()}")
    return 0


def _cancel(server: Server, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        command = wrapped("CommandStatementQuery", query=MANY.replace("d g", "d g, d h, d i"))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        reader = client.do_get(info.endpoints[0].ticket)
        reader.read_chunk()
        reader.cancel()
    return 0


def _drop(server: Server, number: int, chance: random.Random) -> int:
    """Asks, and never reads the answer; begins a transaction and never ends it."""
    client = fl.connect(server.uri)
    command = wrapped("CommandStatementQuery", query=MANY)
    info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    client.do_get(info.endpoints[0].ticket)
    action(client, "BeginTransaction", wrapped("ActionBeginTransactionRequest"))
    client.close()
    return 0


def _nonsense(server: Server, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        try:
            client.do_get(fl.Ticket(chance.randbytes(50))).read_all()
        except (fl.FlightError, pa.ArrowException):
            return 0
    raise AssertionError("nonsense was answered")
