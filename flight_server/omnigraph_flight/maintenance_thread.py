"""Maintenance of a server: end idle sessions, compact tables, delete unneeded files."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from omnigraph import Graph
from omnigraph.errors import OmniGraphError
from omnigraph_flight.handlers.service import Service

log = logging.getLogger("omnigraph.flight")
LOOK_SECONDS = 5.0


class Maintenance:
    """A thread that checks every few seconds what is due."""

    def __init__(self, service: Service, optimize_seconds: float, collect_seconds: float) -> None:
        self._service = service
        expiry_seconds = max(LOOK_SECONDS, service.key.seconds / 4)
        self._every: list[tuple[float, Callable[[str, Graph], None]]] = [
            (expiry_seconds, self._delete_expired),
            (optimize_seconds, _optimize),
            (collect_seconds, _collect),
        ]
        now = time.monotonic()
        # A server that was killed left its results behind: the next one looks at once.
        self._due = [now, *(now + seconds for seconds, _ in self._every[1:])]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="omnigraph-maintenance", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self._service.sessions.expire(
                lambda error: log.error("a session could not be closed: %s", error)
            )
            for index, (seconds, job) in enumerate(self._every):
                if seconds and time.monotonic() >= self._due[index]:
                    self._due[index] = time.monotonic() + seconds
                    self._on_all_graphs(job)

    def _on_all_graphs(self, job: Callable[[str, Graph], None]) -> None:
        for name in self._service.graphs.names:
            if self._ended.is_set():
                return
            try:
                job(name, self._service.graphs.graph(name))
            except OmniGraphError as error:
                # It is tried again later; a concurrent write may well be the cause.
                log.warning("maintenance of %s: %s", name, error.message)

    def _delete_expired(self, name: str, graph: Graph) -> None:  # noqa: ARG002
        files = self._service.graphs.results(name).delete_expired()
        if files:
            log.info("deleted %d files of expired results of %s", files, name)


def _optimize(name: str, graph: Graph) -> None:
    for branch in graph.branches():
        report = graph.optimize(branch.name)
        if report.commit is not None:
            log.info("compacted %s of %s", branch.name, name)


def _collect(name: str, graph: Graph) -> None:
    report = graph.collect()
    if report.files:
        log.info("deleted %d files of %s", report.files, name)
