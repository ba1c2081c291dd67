"""Many clients at once, some of them rude: no wrong answer, and nothing is left behind.

A slice of it runs with the other tests; the target `soak` runs 200 clients for two minutes.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import action, query, rows, run
from flight.processes import serving
from omnigraph import Graph
from omnigraph_flight.protocol.flight_sql_messages import wrapped
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
IDLE_SECONDS = 2.0
ROOM = 200_000_000
"""Bytes by which the server may be larger when all are gone than it was early on."""
POOLED = 24
"""Threads by which it may have more: those that gRPC and the engine keep for the next rush."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_mixed_load_leaves_nothing_behind(graph: Graph, tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text(
        f"port = 0\nmetrics_port = 0\nsession_seconds = {IDLE_SECONDS}\noptimize_seconds = 10.0\n"
        "[limits]\nstatements_per_user = 64\nwait_seconds = 300.0\n"
        f'[graphs]\nsocial = "{graph.uri}"\n'
    )
    with serving("--config", str(config), "--json") as (process, said):
        server = Served(psutil.Process(process.pid), **json.loads(said))
        _warm_up(server)
        threads, seen = server.threads(), Seen()
        until = time.monotonic() + SECONDS
        running = [
            threading.Thread(target=_client, args=(server, seen, until, number))
            for number in range(CLIENTS)
        ]
        for thread in running:
            thread.start()
        time.sleep(SECONDS / 3)
        early = server.memory()
        for thread in running:
            thread.join()

        assert seen.wrong == []
        assert seen.done > CLIENTS
        assert graph.snapshot().count("Person") == 3 + seen.written
        _eventually(lambda: server.gauge("running"), 0)
        _eventually(lambda: server.gauge("sessions"), 0)
        _eventually(lambda: [b.name for b in graph.branches(hidden=True)], ["main"])
        _eventually(lambda: server.threads() <= threads + POOLED, True)
        assert server.memory() < early + ROOM
        assert process.poll() is None
    assert_sound(graph)


@dataclass(frozen=True)
class Served:
    """The server's process, and where it listens."""

    process: psutil.Process
    uri: str
    metrics_port: int

    def memory(self) -> int:
        return int(self.process.memory_info().rss)

    def threads(self) -> int:
        return int(self.process.num_threads())

    def gauge(self, name: str) -> float:
        """A number of the server's own."""
        page = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(page, timeout=60) as answer:
            found = re.search(rf"^omnigraph_{name} (\S+)$", answer.read().decode(), re.M)
        assert found is not None
        return float(found[1])


def _eventually(look: Callable[[], object], wanted: object, seconds: float = 60.0) -> None:
    """Sessions end by idleness, transactions with their session."""
    until = time.monotonic() + seconds
    while (found := look()) != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.5)


def _warm_up(server: Served) -> None:
    with fl.connect(server.uri) as client:
        for _ in range(3):
            query(client, MANY)


def _client(server: Served, seen: Seen, until: float, number: int) -> None:
    chance = random.Random(number)
    actions = (_point, _scan, _write, _transaction, _cancel, _drop, _nonsense)
    try:
        while time.monotonic() < until:
            written = chance.choice(actions)(server, number, chance)
            seen.count(written)
    except Exception as error:  # noqa: BLE001 - told to the test
        with seen.lock:
            seen.wrong.append(f"{type(error).__name__}: {error}")


def _point(server: Served, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        for _ in range(5):
            n = chance.randrange(1000)
            assert query(client, f"SELECT {n} AS n").to_pydict() == {"n": [n]}
    return 0


def _scan(server: Served, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        assert query(client, MANY).num_rows == 1_000_000
    return 0


def _write(server: Served, number: int, chance: random.Random) -> int:
    with dbapi.connect(server.uri, autocommit=True) as client:
        name = f"{number} {chance.random()}"
        assert run(client, "INSERT INTO Person (name) VALUES (?)", name) == 1
        assert rows(client, "SELECT name FROM Person WHERE name = ?", name) == [(name,)]
    return 1


def _transaction(server: Served, number: int, chance: random.Random) -> int:
    """Begins, writes, and goes away."""
    with dbapi.connect(server.uri) as client:
        run(client, "INSERT INTO Person (name) VALUES (?)", f"never {chance.random()}")
    return 0


def _cancel(server: Served, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        command = wrapped("CommandStatementQuery", query=MANY.replace("d g", "d g, d h, d i"))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        reader = client.do_get(info.endpoints[0].ticket)
        reader.read_chunk()
        reader.cancel()
    return 0


def _drop(server: Served, number: int, chance: random.Random) -> int:
    """Asks, and never reads the answer; begins a transaction and never ends it."""
    client = fl.connect(server.uri)
    command = wrapped("CommandStatementQuery", query=MANY)
    info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    client.do_get(info.endpoints[0].ticket)
    action(client, "BeginTransaction", wrapped("ActionBeginTransactionRequest"))
    client.close()
    return 0


def _nonsense(server: Served, number: int, chance: random.Random) -> int:
    with fl.connect(server.uri) as client:
        try:
            client.do_get(fl.Ticket(chance.randbytes(50))).read_all()
        except (fl.FlightError, pa.ArrowException):
            return 0
    raise AssertionError("nonsense was answered")
