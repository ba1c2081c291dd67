"""What a client breaks off is not done at all, however much of it has arrived."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import rows, run
from omnigraph_flight.server import Server

SCHEMA = pa.schema([("a", pa.int32())])
INSERT = "INSERT INTO t VALUES (?)"
KILLED = """
import os, sys, time
import pyarrow as pa
import pyarrow.flight as fl
from flight.clients import _handle
from omnigraph_flight.protocol.flight_sql_messages import wrapped
client = fl.connect(sys.argv[1])
command = wrapped(
    "CommandPreparedStatementUpdate",
    prepared_statement_handle=_handle(client, "INSERT INTO t VALUES ($1)"),
)
batch = pa.record_batch({"1": pa.array([7], pa.int32())})
writer, _ = client.do_put(fl.FlightDescriptor.for_command(command), batch.schema)
writer.write_batch(batch)
time.sleep(0.5)
os._exit(9)
"""


@pytest.fixture
def table(client: dbapi.Connection) -> dbapi.Connection:
    """A connection to where t has three rows."""
    run(client, "CREATE TABLE t (a INT)")
    run(client, "INSERT INTO t VALUES (1), (2), (3)")
    return client


def broken(batches: int) -> pa.RecordBatchReader:
    def made() -> Iterator[pa.RecordBatch]:
        for _ in range(batches):
            yield pa.record_batch({"a": pa.array([9], pa.int32())}, schema=SCHEMA)
        raise RuntimeError("the source broke")

    return pa.RecordBatchReader.from_batches(SCHEMA, made())


def settle(server: Server) -> None:
    """Wait until the server has done whatever it does after its client is gone."""
    time.sleep(0.2)
    until = time.monotonic() + 10
    while len(server.service.calls):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("mode", ["replace", "append", "create_append"])
def test_an_upload_whose_source_breaks_changes_nothing(
    table: dbapi.Connection, server: Server, mode: str, batches: int
) -> None:
    with table.cursor() as cursor, pytest.raises(Exception, match="the source broke"):
        cursor.adbc_ingest("t", broken(batches), mode=mode)  # type: ignore[arg-type]
    settle(server)
    assert rows(table, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


def test_a_table_that_was_not_there_is_not_made(table: dbapi.Connection, server: Server) -> None:
    with table.cursor() as cursor, pytest.raises(Exception, match="the source broke"):
        cursor.adbc_ingest("fresh", broken(2), mode="create")
    settle(server)
    with pytest.raises(Error, match="there is no table 'fresh'"):
        rows(table, "SELECT * FROM fresh")


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_parameters_that_break_off_run_nothing(
    table: dbapi.Connection, server: Server, batches: int
) -> None:
    with table.cursor() as cursor:
        cursor.adbc_prepare(INSERT)
        with pytest.raises(Exception, match="the source broke"):
            cursor.executemany(INSERT, broken(batches))
    settle(server)
    assert rows(table, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


def test_a_client_that_dies_while_it_binds_runs_nothing(
    table: dbapi.Connection, server: Server
) -> None:
    died = subprocess.run(
        [sys.executable, "-c", KILLED, server.uri], env=_with_tests(), check=False
    )
    assert died.returncode == 9
    settle(server)
    assert rows(table, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


def _with_tests() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
