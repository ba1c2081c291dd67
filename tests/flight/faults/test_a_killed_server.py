"""A server killed at any moment has lost nothing it acknowledged, and the next needs no repair."""

from __future__ import annotations

import threading
from contextlib import suppress

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from flight.clients import begin, query, update
from flight.processes import serving, uri_in
from omnigraph import Graph
from support.social import assert_sound, people

CLIENTS, WRITES = 4, 25


@pytest.mark.slow
def test_every_acknowledged_write_is_there_and_nothing_half_done(graph: Graph) -> None:
    acknowledged: list[str] = []
    attempted: list[str] = []
    enough = threading.Event()

    def write(uri: str, number: int) -> None:
        """Each write is two rows, which are there both or not at all."""
        with suppress(fl.FlightError, pa.ArrowException), fl.connect(uri) as client:
            for count in range(WRITES):
                name = f"c{number}n{count}"
                attempted.append(name)
                update(client, f"INSERT INTO Person (name) VALUES ('{name}'), ('{name}b')")
                acknowledged.append(name)
                if len(acknowledged) > CLIENTS * WRITES // 3:
                    enough.set()

    with serving(graph.uri, "--port", "0") as (process, said):
        idle = fl.connect(uri_in(said))
        update(idle, "INSERT INTO Person (name) VALUES ('in an open transaction')", begin(idle))
        threads = [
            threading.Thread(target=write, args=(uri_in(said), client)) for client in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        assert enough.wait(120)
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()

    found = set(people(graph)) - {"Ann", "Bob", "Cid"}
    whole = {name for name in attempted if {name, f"{name}b"} <= found}
    assert set(acknowledged) <= whole
    assert len(whole) <= len(acknowledged) + CLIENTS, "at most the one each was waiting for"
    assert found == whole | {f"{name}b" for name in whole}, "no half of a write"
    assert_sound(graph)

    # At once, with no repair.
    with serving(graph.uri, "--port", "0") as (_, said), fl.connect(uri_in(said)) as client:
        count = query(client, "SELECT count(*) AS n FROM Person").to_pydict()
        assert count == {"n": [3 + 2 * len(whole)]}
        assert update(client, "INSERT INTO Person (name) VALUES ('after')") == 1
