"""A query that is no scan runs once; any replica gives out the slices, until they are over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import action, begin, header, prepared, update
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph.storage.core.object_store import RawStore
from omnigraph_flight.access import result_store
from omnigraph_flight.access.admission import ServerLimits
from omnigraph_flight.access.result_store import FILE_BYTES, FOLDER, ResultStore, StoredResult
from omnigraph_flight.handlers.get_flight_info import TICKET_BYTES
from omnigraph_flight.protocol.flight_sql_messages import encoded, message, wrapped
from support.social import assert_sound

DIGITS = "WITH d(v) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
COUNTED = f"{DIGITS} SELECT a.v + 10 * b.v + 100 * c.v AS n FROM d a, d b, d c ORDER BY n"
MILLION = (
    f"{DIGITS} SELECT a.v + 10*b.v + 100*c.v + 1000*e.v + 10000*f.v + 100000*g.v AS n "
    "FROM d a, d b, d c, d e, d f, d g ORDER BY n"
)


def slices(count: int) -> fl.FlightCallOptions:
    return fl.FlightCallOptions(headers=[(b"x-omnigraph-slices", str(count).encode())])


def ask(client: fl.FlightClient, sql: str, count: int, **fields: bytes) -> fl.FlightInfo:
    command = wrapped("CommandStatementQuery", query=sql, **fields)
    return client.get_flight_info(fl.FlightDescriptor.for_command(command), slices(count))


def read(client: fl.FlightClient, info: fl.FlightInfo) -> pa.Table:
    return pa.concat_tables(client.do_get(e.ticket).read_all() for e in info.endpoints)


def files(graph: Graph) -> list[Path]:
    """Everything there is of kept results, folders too."""
    return sorted(Path(graph.uri, FOLDER).rglob("*"))


def test_its_slices_are_the_result_in_order(serve: Serve, graph: Graph) -> None:
    server = serve()
    with fl.connect(server.uri) as client:
        info = ask(client, COUNTED, 4)
        assert len(info.endpoints) == 4
        assert (info.total_records, info.ordered) == (1000, True)
        parts = [client.do_get(each.ticket).read_all() for each in info.endpoints]
        assert [part.num_rows for part in parts] == [250] * 4
        assert pa.concat_tables(parts)["n"].to_pylist() == list(range(1000))
    assert_sound(graph)


def test_a_large_one_is_kept_in_files_of_bounded_size(serve: Serve, graph: Graph) -> None:
    with fl.connect(serve().uri) as client:
        info = ask(client, MILLION, 64)
        assert info.total_records == 1_000_000
        assert 1 < len(info.endpoints) <= 64
        assert all(file.stat().st_size < 2 * FILE_BYTES for file in files(graph))
        assert read(client, info)["n"].to_pylist() == list(range(1_000_000))


def test_its_slices_are_read_at_once_in_the_place_of_one_statement(serve: Serve) -> None:
    server = serve(limits=ServerLimits(statements_per_user=1, wait_seconds=0.1))
    with fl.connect(server.uri) as client, fl.connect(server.uri) as second:
        info = ask(client, f"SELECT n, repeat('x', 50) AS t FROM ({MILLION}) m ORDER BY n", 2)
        open_ = client.do_get(info.endpoints[0].ticket)
        try:
            open_.read_chunk()
            with pytest.raises(fl.FlightUnavailableError, match="busy"):
                ask(second, COUNTED, 2)
            assert second.do_get(info.endpoints[1].ticket).read_all().num_rows
        finally:
            open_.cancel()  # a client with an open stream waits for it at its end
    assert server.service.admission.idle(5)


def test_any_replica_with_the_key_serves_it(serve: Serve) -> None:
    one, other = serve(ticket_key="shared"), serve(ticket_key="shared")
    stranger = serve()
    with fl.connect(one.uri) as client:
        info = ask(client, COUNTED, 3)
    one.close()
    with fl.connect(other.uri) as client:
        assert read(client, info)["n"].to_pylist() == list(range(1000))
    with fl.connect(stranger.uri) as client, pytest.raises(pa.ArrowInvalid, match="not issued"):
        read(client, info)


def test_it_shows_the_moment_it_was_run_at(serve: Serve, graph: Graph) -> None:
    with fl.connect(serve().uri) as client:
        info = ask(client, "SELECT name FROM Person ORDER BY name", 2)
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Late"}])
        assert read(client, info)["name"].to_pylist() == ["Ann", "Bob", "Cid"]


def test_a_transaction_sees_its_own_rows_in_slices(serve: Serve) -> None:
    with fl.connect(serve().uri) as client:
        transaction = begin(client)
        update(client, "INSERT INTO Person (name) VALUES ('Dee')", transaction)
        info = ask(client, "SELECT name FROM Person", 4, transaction_id=transaction)
        assert sorted(read(client, info)["name"].to_pylist()) == ["Ann", "Bob", "Cid", "Dee"]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT name FROM Person WHERE false ORDER BY name", 0),
        ("SELECT count(*) AS n FROM Person", 1),
        ("query all() { match { $p: Person } return { $p.name } }", 3),
    ],
)
def test_small_results_have_no_empty_slices(serve: Serve, sql: str, rows: int) -> None:
    with fl.connect(serve().uri) as client:
        info = ask(client, sql, 8)
        assert len(info.endpoints) == max(1, rows)
        assert read(client, info).num_rows == rows
        assert read(client, info).schema == info.schema


def test_a_scan_is_not_kept(serve: Serve, graph: Graph) -> None:
    with fl.connect(serve().uri) as client:
        assert read(client, ask(client, "SELECT name FROM Person", 8)).num_rows == 3
    assert files(graph) == []


def test_cancelling_deletes_it(serve: Serve, graph: Graph) -> None:
    with fl.connect(serve().uri) as client:
        info = ask(client, COUNTED, 4)
        assert len(files(graph)) == 4
        told = message("FlightInfo")
        told.ParseFromString(info.serialize())
        action(client, "CancelFlightInfo", encoded("CancelFlightInfoRequest", info=told))
        assert files(graph) == []
        with pytest.raises((pa.ArrowException, fl.FlightError, KeyError), match="cancelled|kept"):
            read(client, info)


def test_one_that_fails_leaves_nothing(serve: Serve, graph: Graph) -> None:
    server = serve(limits=ServerLimits(kept_bytes=FILE_BYTES + 1))
    with fl.connect(server.uri) as client, pytest.raises(pa.ArrowException, match="resource_limit"):
        ask(client, MILLION, 4)
    assert files(graph) == []
    assert server.service.admission.idle(5)


def test_all_that_a_graph_keeps_has_a_limit(serve: Serve, graph: Graph) -> None:
    server = serve(limits=ServerLimits(kept_bytes_per_graph=20_000))
    with fl.connect(server.uri) as client:
        ask(client, COUNTED, 2)  # 8,000 bytes and a little
        over = Path(graph.uri, FOLDER, "1000-over-000000.arrow")
        over.write_bytes(bytes(20_000))  # waits to be swept, and does not count
        second = ask(client, COUNTED, 2)
        before = files(graph)
        with pytest.raises(pa.ArrowException, match=r"resource_limit[^>]*kept_bytes_per_graph"):
            ask(client, COUNTED, 2)
        assert files(graph) == before
        told = message("FlightInfo")
        told.ParseFromString(second.serialize())
        action(client, "CancelFlightInfo", encoded("CancelFlightInfoRequest", info=told))
        assert read(client, ask(client, COUNTED, 2)).num_rows == 1000


def test_results_that_are_kept_at_once_share_the_limit(
    serve: Serve, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_store, "LOOK_FILES", 1)
    server = serve(limits=ServerLimits(kept_bytes_per_graph=3 * FILE_BYTES))
    write, written = RawStore.write, []

    def write_beside_another(self: RawStore, path: str, data: bytes) -> None:
        write(self, path, data)
        written.append(path)
        if len(written) == 1:  # somebody else, perhaps another server, begins now
            write(
                self,
                f"{FOLDER}/{int(time.time()) + 1000}-other-000000.arrow",
                bytes(2 * FILE_BYTES),
            )

    monkeypatch.setattr(RawStore, "write", write_beside_another)
    with (
        fl.connect(server.uri) as client,
        pytest.raises(pa.ArrowException, match=r"resource_limit[^>]*kept_bytes_per_graph"),
    ):
        ask(client, MILLION, 4)  # 8 MB, which is two files
    assert [file.name.partition("-")[2] for file in files(graph)] == ["other-000000.arrow"]


def test_a_client_that_goes_away_while_rows_are_kept_leaves_nothing(
    serve: Serve, graph: Graph
) -> None:
    server = serve()
    endless = f"{DIGITS} SELECT a.v, random() AS r FROM " + ", ".join(
        f"d {x}" for x in "abcdefghijk"
    )
    with fl.connect(server.uri) as client, pytest.raises(fl.FlightTimedOutError):
        command = fl.FlightDescriptor.for_command(wrapped("CommandStatementQuery", query=endless))
        options = fl.FlightCallOptions(timeout=2, headers=[(b"x-omnigraph-slices", b"4")])
        client.get_flight_info(command, options)
    assert server.service.admission.idle(20)
    assert files(graph) == []


def test_planned_slices_outlive_the_session_that_planned_them(serve: Serve, graph: Graph) -> None:
    """A driver plans and goes; workers read."""
    server = serve()
    planner = dbapi.connect(server.uri, db_kwargs=header(slices="2"), autocommit=True)
    with planner, planner.cursor() as cursor:
        cut, _ = cursor.adbc_execute_partitions(COUNTED)
    assert len(server.service.sessions) == 0
    assert len(files(graph)) == 2
    with dbapi.connect(server.uri, autocommit=True) as worker, worker.cursor() as cursor:
        cursor.adbc_read_partition(cut[1])
        assert cursor.fetchall() == [(n,) for n in range(500, 1000)]


def test_what_is_over_is_deleted_by_any_server(serve: Serve, graph: Graph) -> None:
    server = serve()
    with fl.connect(server.uri) as client:
        info = ask(client, COUNTED, 4)
    stored = server.service.graphs.results("social")
    stray = Path(graph.uri, FOLDER, "not-ours.arrow")
    stray.write_bytes(b"")
    assert stored.delete_expired(time.time() + 4 * 3600) == 0
    later = time.time() + 4 * 3600 + 600 + 2
    assert ResultStore(graph.folder(FOLDER)).delete_expired(later) == 4
    assert files(graph) == [stray]
    with fl.connect(server.uri) as client, pytest.raises(KeyError, match="has expired"):
        read(client, info)


def test_its_life_begins_when_it_is_written(
    serve: Serve, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = ResultStore.store

    def keep_slowly(
        self: ResultStore,
        call: str,
        rows: pa.RecordBatchReader,
        **more: Any,  # noqa: ANN401
    ) -> StoredResult:
        def swept() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                yield batch
                # A statement may take 600.
                ResultStore(graph.folder(FOLDER)).delete_expired(time.time() + 500)

        slow = pa.RecordBatchReader.from_batches(rows.schema, swept())
        return keep(self, call, slow, **more)

    monkeypatch.setattr(ResultStore, "store", keep_slowly)
    with fl.connect(serve(ticket_seconds=10).uri) as client:
        info = ask(client, MILLION, 2)
        assert read(client, info).num_rows == 1_000_000
        ended = time.time()
    assert ResultStore(graph.folder(FOLDER)).delete_expired(ended + 4 * 10 - 1) == 0


def test_a_ticket_can_be_renewed_until_it_has_expired(serve: Serve) -> None:
    server = serve(ticket_seconds=0.5)
    with fl.connect(server.uri) as client:
        info = message("FlightInfo")
        info.ParseFromString(ask(client, COUNTED, 2).serialize())
        body = encoded("RenewFlightEndpointRequest", endpoint=info.endpoint[0])
        renewed = message("FlightEndpoint")
        renewed.ParseFromString(action(client, "RenewFlightEndpoint", body))
        assert client.do_get(fl.Ticket(renewed.ticket.ticket)).read_all().num_rows == 500
        time.sleep(0.6)
        with pytest.raises(KeyError, match="expired"):
            client.do_get(fl.Ticket(renewed.ticket.ticket)).read_all()


def test_rows_that_a_change_gives_are_read_often_and_changed_once(
    serve: Serve, graph: Graph
) -> None:
    with fl.connect(serve().uri) as client:
        info = ask(client, "INSERT INTO Person (name) VALUES ('Dee'), ('Eli') RETURNING name", 1)
        assert info.ordered
        for _ in range(3):
            assert sorted(read(client, info)["name"].to_pylist()) == ["Dee", "Eli"]
        gone = ask(client, "DELETE FROM Person WHERE name = 'Eli' RETURNING name", 4)
        assert read(client, gone)["name"].to_pylist() == ["Eli"]
    assert graph.snapshot().count("Person") == 4


RETURNING = "INSERT INTO Person (name) VALUES ('Dee') RETURNING name"
LARGE = f"INSERT INTO Person (name) VALUES ('Dee') RETURNING repeat(name, {TICKET_BYTES})"


def test_a_few_rows_that_a_change_gives_travel_in_their_ticket(serve: Serve, graph: Graph) -> None:
    one, other = serve(ticket_key="shared"), serve(ticket_key="shared")
    with fl.connect(one.uri) as client:
        info = ask(client, RETURNING, 1)
        none = ask(client, "DELETE FROM Person WHERE name = 'Nobody' RETURNING name, age", 1)
    assert (info.total_records, files(graph)) == (1, [])
    with fl.connect(other.uri) as client:
        assert read(client, info).to_pydict() == {"name": ["Dee"]}
        assert read(client, none).to_pydict() == {"name": [], "age": []}
        assert read(client, none).schema == none.schema
    assert graph.snapshot().count("Person") == 4


def test_rows_that_a_change_gives_are_dropped_with_the_session_unless_it_asked_for_slices(
    serve: Serve, graph: Graph
) -> None:
    server = serve()
    with dbapi.connect(server.uri, autocommit=True) as client, client.cursor() as cursor:
        cursor.execute(LARGE)
        assert cursor.fetch_arrow_table().num_rows == 1
        assert len(files(graph)) == 1
    assert files(graph) == []
    with fl.connect(server.uri) as bare:
        command = wrapped("CommandStatementQuery", query=LARGE.replace("Dee", "Eli"))
        bare.get_flight_info(fl.FlightDescriptor.for_command(command))
        assert len(files(graph)) == 1
        server.service.sessions.close_all(lambda error: None)  # as when they are idle for too long
    assert files(graph) == []


def branches(graph: Graph) -> list[str]:
    """Also those of transactions."""
    return sorted(branch.name for branch in graph.branches(hidden=True))


def test_a_change_whose_rows_are_too_many_did_not_happen(serve: Serve, graph: Graph) -> None:
    with (
        fl.connect(serve(limits=ServerLimits(result_bytes=2)).uri) as client,
        pytest.raises(pa.ArrowException, match="resource_limit"),
    ):
        ask(client, RETURNING, 1)
    assert graph.snapshot().count("Person") == 3
    assert (files(graph), branches(graph)) == ([], ["main"])


def test_a_change_whose_rows_cannot_be_stored_did_not_happen(serve: Serve, graph: Graph) -> None:
    Path(graph.uri, FOLDER).write_bytes(b"in the way")
    with (
        fl.connect(serve().uri) as client,
        pytest.raises((pa.ArrowException, fl.FlightError), match="cannot"),
    ):
        ask(client, LARGE, 1)
    assert graph.snapshot().count("Person") == 3


def test_the_rows_of_a_change_that_lost_to_another_are_not_kept(
    serve: Serve, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = ResultStore.store

    def keep_while_another_writes(self: ResultStore, *given: Any, **more: Any) -> StoredResult:  # noqa: ANN401
        kept = keep(self, *given, **more)
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Dee", "age": 1}])
        return kept

    monkeypatch.setattr(ResultStore, "store", keep_while_another_writes)
    with (
        fl.connect(serve().uri) as client,
        pytest.raises((pa.ArrowException, fl.FlightError), match="Dee"),
    ):
        ask(client, LARGE, 1)
    assert graph.snapshot().count("Person") == 4
    assert (files(graph), branches(graph)) == ([], ["main"])


def test_a_change_of_another_branch_gives_its_rows(serve: Serve, graph: Graph) -> None:
    graph.create_branch("other")
    with fl.connect(serve().uri) as client:
        sql = "INSERT INTO other.nodes.Person (name) VALUES ('Dee') RETURNING name"
        assert read(client, ask(client, sql, 1))["name"].to_pylist() == ["Dee"]
    assert graph.snapshot("other").count("Person") == 4
    assert (graph.snapshot().count("Person"), branches(graph)) == (3, ["main", "other"])


def test_the_ticket_of_a_count_carries_no_parameters(serve: Serve) -> None:
    server = serve()
    names = pa.record_batch({"1": [f"person {n}" for n in range(1000)]})
    with fl.connect(server.uri) as client:
        command = prepared(client, "INSERT INTO Person (name) VALUES ($1)", names)
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        assert len(info.endpoints[0].ticket.ticket) < 1000
        assert read(client, info).to_pydict() == {"count": [1000]}


def test_a_session_forgets_results_that_are_over(serve: Serve, graph: Graph) -> None:
    server = serve(ticket_seconds=0.01)
    with fl.connect(server.uri) as client:
        for name in ("Dee", "Eli", "Fay"):
            ask(client, LARGE.replace("Dee", name), 1)
            time.sleep(0.1)
        (session,) = server.service.sessions._sessions.values()
        assert len(session._stored_results) == 1
        action(client, "CloseSession", b"")
    assert len(files(graph)) == 2, "the last one is deleted, those that are over are swept"
