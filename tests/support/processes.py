"""Server processes for tests: started, awaited, stopped, and quoted when they do not come up."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.02
_LOG_TAIL_BYTES = 4_000


class ServerDidNotStart(RuntimeError):
    """A server exited or stayed silent; the message carries the end of its log."""


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports nobody listens on.

    They are held together while they are chosen, so one call never returns a port twice; between
    this call and the server's bind another process may take one, which shows as a failed start.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def port_answers(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False


@dataclass(frozen=True)
class Server:
    """A running process and the file its output goes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def log_tail(self) -> str:
        return self.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")

    def wait_until(self, ready: Callable[[], bool], timeout_seconds: float) -> None:
        """Return when `ready` holds; raise with the log when the process ends or time runs out."""
        deadline = time.monotonic() + timeout_seconds
        while not ready():
            status = self.process.poll()
            if status is not None:
                raise ServerDidNotStart(
                    f"{self.name} exited with status {status} before it was ready; "
                    f"its log ends:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise ServerDidNotStart(
                    f"{self.name} was not ready after {timeout_seconds:g} s; "
                    f"its log ends:\n{self.log_tail()}"
                )
            time.sleep(_POLL_SECONDS)

    def stop(self, grace_seconds: float) -> None:
        """Ask it to end, then insist. No grace means it is killed at once."""
        if self.process.poll() is None and grace_seconds > 0:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_seconds)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextmanager
def running(
    name: str,
    command: Sequence[str],
    port: int,
    *,
    environment: Mapping[str, str] | None = None,
    ready: Callable[[], bool] | None = None,
    start_seconds: float = 30.0,
    grace_seconds: float = 5.0,
) -> Iterator[Server]:
    """Run `command` until the block ends; enter the block when `port` answers and `ready` holds.

    The process gets an empty working directory of its own, which goes away with it.
    """
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **(environment or {})},
            )
        server = Server(name, process, log)
        try:
            server.wait_until(lambda: port_answers(port), start_seconds)
            if ready is not None:
                server.wait_until(ready, start_seconds)
            yield server
        finally:
            server.stop(grace_seconds)
