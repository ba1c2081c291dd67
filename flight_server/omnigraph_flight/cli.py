"""`omnigraph serve`."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, pass_invocation
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph_flight.config import Config
    from omnigraph_flight.server import Server


POLL_SECONDS = 0.2

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _setting(name: str, help_: str, **more: Any) -> Callable[[_Command], _Command]:  # noqa: ANN401
    """An option that an environment variable of its name gives, too."""
    variable = f"OMNIGRAPH_{name.upper().replace('-', '_')}"
    return click.option(f"--{name}", envvar=variable, help=help_, **more)


@command(
    "serve",
    example="""
    omnigraph serve social.omni
    omnigraph serve --graph social=social.omni --graph shop=s3://bucket/shop --port 32010
    omnigraph serve --config server.toml --tls-cert cert.pem --tls-key key.pem
    """,
)
@click.argument("uri", required=False)
@click.option(
    "--graph",
    "graphs",
    metavar="NAME=URI",
    multiple=True,
    help="A graph and the name clients call it by; may be repeated.",
)
@_setting("host", "Where to listen.  [default: 127.0.0.1]", metavar="ADDRESS")
@_setting("port", "0 takes any free one.  [default: 32010]", type=int)
@_setting("tls-cert", "Certificate, PEM.", metavar="FILE")
@_setting("tls-key", "Its key, PEM.", metavar="FILE")
@_setting("tls-client-ca", "Clients must show a certificate signed by this one.", metavar="FILE")
@_setting("config", "A TOML file; flags and environment prevail over it.", metavar="FILE")
@_setting("ticket-key", "Replicas that share it serve each other's tickets.", metavar="SECRET")
@_setting("metrics-port", "Serve /metrics and /health over HTTP there.", type=int)
@_setting(
    "statement-seconds",
    "Stop statements that run longer; 0 is never.  [default: 600]",
    type=click.FloatRange(min=0),
)
@_setting(
    "memory-bytes",
    "What queries of a graph hold before they go to disk.  [default: half of the machine's]",
    type=click.IntRange(min=0),
)
@_setting(
    "log",
    "How to write the log to stderr.  [default: text]",
    type=click.Choice(["text", "json"]),
)
@click.option(
    "--insecure",
    is_flag=True,
    default=None,
    help="Listen on a public address without authentication or TLS.",
)
@pass_invocation
def serve(
    invocation: Invocation,
    /,
    uri: str | None,
    graphs: tuple[str, ...],
    config: str | None,
    **flags: Any,  # noqa: ANN401
) -> None:
    """Serve graphs over Arrow Flight SQL.

    Without URI the graph is where --store says. It ends on Ctrl-C or SIGTERM, when running
    statements are done.
    """
    from omnigraph_flight.server import Server

    settings = _configured(invocation, uri, graphs, config, flags)
    with _log_to_stderr(settings.log), _signals() as ended, Server(settings) as server:
        if invocation.json:
            output.write_json({"uri": server.uri, "metrics_port": server.metrics_port})
        else:
            for line in how_to_connect(server):
                output.write_line(line)
        sys.stdout.flush()
        # Only this thread may handle a signal, and one that another thread receives does not wake
        # it: so it polls.
        while not ended.wait(POLL_SECONDS):
            pass
        logging.getLogger("omnigraph.flight").info("shutting down: running statements may finish")


def _configured(
    invocation: Invocation,
    uri: str | None,
    graphs: tuple[str, ...],
    config_file: str | None,
    flags: dict[str, Any],
) -> Config:
    from omnigraph_flight.config import Config, read_config, with_flags

    named = dict(_named(each) for each in graphs)
    config = read_config(config_file) if config_file else Config(graphs={})
    if not uri and not named and not config.graphs:
        uri = invocation.uri()
    if uri:
        named = {Path(uri.rstrip("/")).stem or "graph": uri, **named}
    flags["durability"] = invocation.durability
    return with_flags(config, graphs={**config.graphs, **named}, **flags)


def _named(text: str) -> tuple[str, str]:
    name, equals, uri = text.partition("=")
    if not equals or not name or not uri:
        raise InvalidInput(f"{text!r} does not name a graph", hint="Write --graph NAME=URI.")
    return name, uri


def how_to_connect(server: Server) -> list[str]:
    """How to connect from Python, dbt, Spark and a BI tool."""
    uri, tls = server.uri, bool(server.config.tls_cert)
    host, port = server.config.host, server.port
    login = (
        '", db_kwargs={"username": "…", "password": "<token>"})' if server.config.users else '")'
    )
    jdbc = f"jdbc:arrow-flight-sql://{host}:{port}/?useEncryption={str(tls).lower()}"
    lines = [
        f"Serving {', '.join(server.service.graphs.names)} at {uri}; Ctrl-C ends it.",
        "",
        "Python   import adbc_driver_flightsql.dbapi as flight",
        f'         flight.connect("{uri}{login}',
        f"dbt      type: omnigraph, uri: {uri}",
        f'Spark    spark.read.format("omnigraph").option("uri", "{uri}")',
        f"BI       {jdbc}",
    ]
    if server.metrics_port is not None:
        lines.append(f"watch    http://{host}:{server.metrics_port}/metrics and /health")
    return lines


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that is set when the process is asked to end."""
    ended = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: ended.set()) for kind in kinds]
    try:
        yield ended
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


@contextmanager
def _log_to_stderr(kind: str) -> Iterator[None]:
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if kind == "json" else logging.Formatter(_TEXT))
    logger = logging.getLogger("omnigraph")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


_TEXT = "%(asctime)s %(levelname)s %(message)s"
_PLAIN = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
}


class _Json(logging.Formatter):
    """One JSON object per line; what a record carries besides its message becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        body: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        body |= {k: v for k, v in record.__dict__.items() if k not in _PLAIN}
        if record.exc_info:
            body["error"] = self.formatException(record.exc_info)
        return json.dumps(body, default=str)
