"""Metrics of the server, for Prometheus."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from omnigraph import Graph
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_sql import plan_counts

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_OPERATIONS = (0, 1, 2, 5, 10, 14, 20, 50, 100, 200, 500, 1000, 10_000)
StatementKind = Literal["read", "update", "upload"]
SLOW_SECONDS = 1.0
"""Slower reads are written to the log; statements that change something always are."""
log = logging.getLogger("omnigraph.flight")


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self, graphs: Graphs) -> None:
        registry = self.registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(name, text, registry=registry)

        def histogram(name: str, text: str, label: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(name, text, [label], buckets=buckets, registry=registry)

        # Looking labels up costs more than counting does.
        self._calls = cache(
            counter("omnigraph_calls_total", "Flight calls.", "method", "code").labels
        )
        time_to_first = "How long calls take; those that stream, to their first batch."
        self._seconds = cache(
            histogram("omnigraph_call_seconds", time_to_first, "method", _SECONDS).labels
        )
        self._statements = cache(
            counter(
                "omnigraph_statements_total", "Statements that were run.", "kind", "outcome"
            ).labels
        )
        time_to_last = "How long statements take, to their last batch."
        self._statement_seconds = cache(
            histogram("omnigraph_statement_seconds", time_to_last, "kind", _SECONDS).labels
        )
        requests = "Requests to the store while a statement ran, those of others included."
        self._statement_operations = cache(
            histogram(
                "omnigraph_statement_storage_operations", requests, "kind", _OPERATIONS
            ).labels
        )
        self.rows_sent = counter("omnigraph_rows_sent_total", "Rows sent.")
        self.bytes_sent = counter("omnigraph_bytes_sent_total", "Bytes sent.")
        self.rows_received = counter("omnigraph_rows_received_total", "Rows uploaded.")
        self.bytes_received = counter("omnigraph_bytes_received_total", "Bytes uploaded.")
        self.rows_changed = counter("omnigraph_rows_changed_total", "Rows that statements changed.")
        self.refused = counter(
            "omnigraph_refused_total", "Calls refused because the server is at its limits."
        )
        self.running = gauge("omnigraph_running", "Statements that are running.")
        self.sessions = gauge("omnigraph_sessions", "Open sessions.")
        self.prepared = gauge("omnigraph_prepared_statements", "Prepared statements.")
        registry.register(_GraphCounters(graphs))

    def answered(self, method: str, code: str, seconds: float) -> None:
        """A call was answered."""
        self._calls(method, code).inc()
        self._seconds(method).observe(seconds)
        if code == "busy":
            self.refused.inc()

    def sent(self, rows: int, size: int) -> None:
        """A result was sent, or as much of it as was read."""
        self.rows_sent.inc(rows)
        self.bytes_sent.inc(size)

    def changed(self, rows: int) -> None:
        """A statement has changed rows."""
        self.rows_changed.inc(max(rows, 0))

    def ran(self, kind: StatementKind, outcome: str, seconds: float, operations: int) -> None:
        """A statement has ended."""
        self._statements(kind, outcome).inc()
        self._statement_seconds(kind).observe(seconds)
        self._statement_operations(kind).observe(operations)


@dataclass(eq=False)
class StatementTimer:
    """One statement from its beginning to its end. A context manager, or ended by hand."""

    metrics: Metrics
    kind: StatementKind
    name: str
    """The name of the graph."""
    graph: Graph
    user: str

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        self._operations = self.graph.counts().operations

    def end(self, error: BaseException | None = None) -> None:
        outcome = "ok" if error is None else str(getattr(error, "code", "internal"))
        seconds = time.perf_counter() - self._began
        operations = self.graph.counts().operations - self._operations
        self.metrics.ran(self.kind, outcome, seconds, operations)
        if self.kind != "read" or seconds > SLOW_SECONDS or outcome != "ok":
            log.info(
                "%s by %s: %s",
                self.kind,
                self.user,
                outcome,
                extra={
                    "kind": self.kind,
                    "graph": self.name,
                    "user": self.user,
                    "outcome": outcome,
                    "seconds": round(seconds, 6),
                    "storage_operations": operations,
                },
            )

    def __enter__(self) -> StatementTimer:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end(error)


class _GraphCounters(Collector):
    """What each graph has counted itself, read when the metrics are collected."""

    def __init__(self, graphs: Graphs) -> None:
        self._graphs = graphs

    def collect(self) -> Iterator[Metric]:
        operations = CounterMetricFamily(
            "omnigraph_storage_operations_total", "Requests to the store.", labels=["graph", "kind"]
        )
        moved = CounterMetricFamily(
            "omnigraph_storage_bytes_total",
            "Bytes from and to the store.",
            labels=["graph", "kind"],
        )
        lost = "Publishes that lost to another writer and were tried again."
        retries = CounterMetricFamily("omnigraph_publish_retries_total", lost, labels=["graph"])
        cached = "Lookups of plans of statements and of handles of tables."
        lookups = CounterMetricFamily(
            "omnigraph_cache_lookups_total", cached, labels=["graph", "cache", "outcome"]
        )
        for name, graph in self._graphs.opened().items():
            counts, plans = graph.counts(), plan_counts(graph)
            operations.add_metric([name, "read"], counts.reads)
            operations.add_metric([name, "write"], counts.writes)
            moved.add_metric([name, "read"], counts.read_bytes)
            moved.add_metric([name, "write"], counts.written_bytes)
            retries.add_metric([name], counts.retries)
            lookups.add_metric([name, "plan", "hit"], plans.hits)
            lookups.add_metric([name, "plan", "miss"], plans.misses)
            lookups.add_metric([name, "handle", "hit"], counts.handle_hits)
            lookups.add_metric([name, "handle", "miss"], counts.handle_misses)
        yield from (operations, moved, retries, lookups)
