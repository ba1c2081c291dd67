"""A server from its configuration: started, waited for, and shut down gracefully."""

from __future__ import annotations

import logging
import threading

import pyarrow as pa

from omnigraph.errors import Cancelled, InvalidInput
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.config import Config, read_file
from omnigraph_flight.handlers.rpc_server import FlightSqlServer
from omnigraph_flight.handlers.service import Service
from omnigraph_flight.health_page import HealthPage
from omnigraph_flight.maintenance_thread import Maintenance

log = logging.getLogger("omnigraph.flight")


class Server:
    """A running server; a context manager that ends it."""

    def __init__(self, config: Config) -> None:
        self.config = config.checked()
        graphs = Graphs(config.graphs, config.limits.memory_bytes or None, config.durability)
        for name in graphs.names:
            graphs.graph(name)  # a graph that does not exist is reported at once
        self.service = Service(graphs, config)
        self._flight = _listening(config, self.service)
        self._health = (
            None
            if config.metrics_port is None
            else HealthPage(config.host, config.metrics_port, self.service)
        )
        self._maintenance = Maintenance(
            self.service, config.optimize_seconds, config.collect_seconds
        )
        self._closing = threading.Lock()
        self._closed = False

    @property
    def port(self) -> int:
        return int(self._flight.port)

    @property
    def metrics_port(self) -> int | None:
        return None if self._health is None else self._health.port

    @property
    def uri(self) -> str:
        """Where clients connect."""
        scheme = "grpc+tls" if self.config.tls_cert else "grpc"
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        return f"{scheme}://{host}:{self.port}"

    def wait(self) -> None:
        """Serve until the server is closed."""
        self._flight.wait()

    def close(self, grace_seconds: float = 30.0) -> None:
        """Shut down: statements may finish, then they are stopped; transactions roll back."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if self._health is not None:
            self._health.draining()
        if not self.service.admission.idle(grace_seconds):
            self.service.calls.stop_all(
                Cancelled(
                    "the server is shutting down", hint="Connect again and repeat the statement."
                )
            )
        self._flight.shutdown()
        self._maintenance.close()
        self.service.sessions.close_all(
            lambda error: log.error("a session could not be closed: %s", error)
        )
        self.service.calls.close()
        if self._health is not None:
            self._health.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _listening(config: Config, service: Service) -> FlightSqlServer:
    certificate = (
        (read_file(config.tls_cert), read_file(config.tls_key))
        if config.tls_cert and config.tls_key
        else None
    )
    scheme = "grpc+tls" if certificate else "grpc"
    try:
        return FlightSqlServer(
            service,
            f"{scheme}://{config.host}:{config.port}",
            certificate=certificate,
            client_authority=read_file(config.tls_client_ca) if config.tls_client_ca else None,
        )
    except (OSError, pa.ArrowException) as error:
        raise InvalidInput(
            f"cannot listen on {config.host}:{config.port}",
            hint="Another program may use that port: choose one with --port.",
        ) from error
