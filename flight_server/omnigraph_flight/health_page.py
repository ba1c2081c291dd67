"""/health and /metrics over HTTP, for monitoring."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from omnigraph_flight.handlers.service import Service


class HealthPage:
    """Serves both pages in a thread of its own."""

    def __init__(self, host: str, port: int, service: Service) -> None:
        self._service = service
        self._draining = False
        self._http = ThreadingHTTPServer((host, port), self._handler())
        self._http.daemon_threads = True
        threading.Thread(
            target=self._http.serve_forever, name="omnigraph-health", daemon=True
        ).start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def draining(self) -> None:
        """From now on, report that no new work should come here."""
        self._draining = True

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/health":
            status, body = (503, b"ending\n") if self._draining else (200, b"ok\n")
            return status, "text/plain", body
        if path == "/metrics":
            self._service.observe()
            return 200, CONTENT_TYPE_LATEST, generate_latest(self._service.metrics.registry)
        return 404, "text/plain", b"there are /health and /metrics\n"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802 - the name http.server calls
                status, kind, body = page._answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Monitors call often; the log is for what matters."""

        return Handler
