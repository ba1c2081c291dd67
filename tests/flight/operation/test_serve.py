"""`omnigraph serve` as a process: it says how to connect, serves, and ends without losing work."""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import rows
from flight.clients import run as run_statement
from flight.conftest import Serve
from flight.processes import serving, uri_in
from omnigraph import Graph
from omnigraph.cli import run
from omnigraph.errors import InvalidInput
from omnigraph_flight.cli import serve as serve_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server


def test_it_says_how_to_connect_and_ends_when_told(graph: Graph) -> None:
    with serving(graph.uri, "--port", "0") as (process, said):
        uri = uri_in(said)
        for tool in ("Python", "dbt", "Spark", "BI"):
            assert re.search(rf"^{tool} ", said, re.M), said
        with dbapi.connect(uri, autocommit=True) as client:
            assert rows(client, "SELECT count(*) FROM Person") == [(3,)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_running_statements_finish_first(graph: Graph) -> None:
    with serving(graph.uri, "--port", "0") as (process, said), fl.connect(uri_in(said)) as client:
        digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
        tables = ", ".join(f"{digits} {name}(v)" for name in "abcdef")
        command = wrapped("CommandStatementQuery", query=f"SELECT a.v FROM {tables}")
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        reader = client.do_get(info.endpoints[0].ticket)
        count = reader.read_chunk().data.num_rows
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        assert count + reader.read_all().num_rows == 1_000_000
        assert process.wait(60) == 0


def test_metrics_and_health_over_http(graph: Graph) -> None:
    with serving(graph.uri, "--port", "0", "--metrics-port", "0", "--json") as (_, said):
        told = json.loads(said)
        with dbapi.connect(told["uri"], autocommit=True) as client:
            rows(client, "SELECT name FROM Person")
        page = f"http://127.0.0.1:{told['metrics_port']}"
        assert _get(f"{page}/health") == "ok\n"
        metrics = _get(f"{page}/metrics")
        assert re.search(r"^omnigraph_rows_sent_total [1-9]", metrics, re.M)
        assert re.search(r'^omnigraph_calls_total\{.*method="DoGet".*\} [1-9]', metrics, re.M)
        with pytest.raises(urllib.error.HTTPError):
            _get(f"{page}/etc/passwd")


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def test_a_file_the_environment_and_flags_configure_it(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f'port = 1\nlog = "json"\n[graphs]\nsocial = "{graph.uri}"\n')
    log = tmp_path / "log"
    with serving("--config", str(file), log=log, OMNIGRAPH_PORT="0") as (process, said):
        assert "Serving social" in said
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert json.loads(log.read_text().splitlines()[-1])["level"] == "info"


def test_limits_are_flags_and_variables_too(graph: Graph) -> None:
    digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
    tables = ", ".join(f"{digits} {name}(v)" for name in "abcdefghij")
    arguments = (graph.uri, "--port", "0", "--memory-bytes", "50000000")
    with (
        serving(*arguments, OMNIGRAPH_STATEMENT_SECONDS="3") as (_, said),
        dbapi.connect(uri_in(said), autocommit=True) as client,
    ):
        with pytest.raises(Error, match="timeout"):
            rows(client, f"SELECT a.v FROM {tables}")
        assert rows(client, "SELECT 7") == [(7,)]


def test_the_log_says_who_changed_what_and_at_what_cost(graph: Graph, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(graph.uri, "--port", "0", "--log", "json", log=log) as (process, said):
        with dbapi.connect(uri_in(said), autocommit=True) as client:
            run_statement(client, "INSERT INTO Person (name) VALUES ('Dee')")
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    lines = map(json.loads, log.read_text().splitlines())
    (told,) = [line for line in lines if "kind" in line]
    assert (told["kind"], told["user"], told["outcome"]) == ("update", "anonymous", "ok")
    assert told["storage_operations"] > 0
    assert told["seconds"] > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no graph is given"),
        (("nowhere.omni",), "nowhere.omni"),
        (("--graph", "nonsense"), "does not name a graph"),
        (("--config", "missing.toml"), "there is no configuration"),
        (("g", "--host", "0.0.0.0"), "reachable from other machines"),
        (("g", "--tls-cert", "c"), "certificate and a key"),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    arguments: tuple[str, ...],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("omnigraph.cli.app._loaded", lambda plugin: serve_command)
    monkeypatch.setattr("omnigraph.cli.app._plugins", lambda: {"serve": object()})
    before = list(logging.getLogger("omnigraph").handlers), signal.getsignal(signal.SIGINT)
    assert run(["serve", *arguments]) in (2, 3)
    assert told in capsys.readouterr().err
    after = logging.getLogger("omnigraph").handlers, signal.getsignal(signal.SIGINT)
    assert after == before, "log and signals of the process that runs it are its own"


def test_a_port_that_is_taken(server: Server, serve: Serve) -> None:
    with pytest.raises(InvalidInput, match="cannot listen"):
        serve(port=server.port)
