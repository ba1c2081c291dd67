"""What the server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "omnigraph_calls",
            "Flight calls.",
            ["method", "code"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "omnigraph_call_seconds",
            "How long calls take; those that stream, to their first batch.",
            ["method"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.stream_seconds = Histogram(
            "omnigraph_stream_seconds",
            "How long results take to their last batch.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rows_sent = Counter("omnigraph_rows_sent", "Rows sent.", registry=self.registry)
        self.bytes_sent = Counter("omnigraph_bytes_sent", "Bytes sent.", registry=self.registry)
        self.rows_received = Counter(
            "omnigraph_rows_received", "Rows uploaded.", registry=self.registry
        )
        self.bytes_received = Counter(
            "omnigraph_bytes_received", "Bytes uploaded.", registry=self.registry
        )
        self.rows_changed = Counter(
            "omnigraph_rows_changed", "Rows that statements changed.", registry=self.registry
        )
        self.refused = Counter(
            "omnigraph_refused", "Calls refused for lack of room.", registry=self.registry
        )
        self.running = Gauge(
            "omnigraph_running", "Statements that are running.", registry=self.registry
        )
        self.sessions = Gauge("omnigraph_sessions", "Open sessions.", registry=self.registry)
        self.prepared = Gauge(
            "omnigraph_prepared_statements", "Prepared statements.", registry=self.registry
        )

    def answered(self, method: str, code: str, seconds: float) -> None:
        """A call was answered."""
        self.calls.labels(method, code).inc()
        self.seconds.labels(method).observe(seconds)
        if code == "busy":
            self.refused.inc()

    def sent(self, rows: int, size: int, seconds: float) -> None:
        """A result has gone out, or as much of it as was read."""
        self.rows_sent.inc(rows)
        self.bytes_sent.inc(size)
        self.stream_seconds.observe(seconds)

    def changed(self, rows: int) -> None:
        """A statement has changed rows."""
        self.rows_changed.inc(max(rows, 0))
