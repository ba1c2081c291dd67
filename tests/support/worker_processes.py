"""Worker processes: given jobs, let go together, watched, killed, and used again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.waiting import wait_until

START_SECONDS = 60.0


class Worker:
    """One worker process and what it reported on its current job.

    A thread of the test collects the reports.
    """

    def __init__(self) -> None:
        self.name = "worker"
        self.events: list[dict[str, Any]] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.workers.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):  # a killed process may leave half a line: it said nothing
                self.events.append(json.loads(line))

    def _tell(self, line: str) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it may have been killed already
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    def give(self, module: str, asked: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self.name = str(asked.get("name", module))
        self.events = []
        self._tell(
            json.dumps({"module": module, "asked": dict(asked), "environment": dict(environment)})
        )

    def said(self, event: str) -> list[dict[str, Any]]:
        """All reports of one kind on this job so far."""
        return [each for each in list(self.events) if each["event"] == event]

    @property
    def gone(self) -> bool:
        return self.process.poll() is not None

    @property
    def idle(self) -> bool:
        """Whether it can take another job."""
        return not self.gone and bool(self.said("end") or self.said("broken"))

    def wait_ready(self) -> None:
        wait_until(
            lambda: bool(self.said("ready") or self.said("broken")) or self.gone,
            START_SECONDS,
            f"{self.name} is ready",
        )
        assert self.said("ready"), self.errors()

    def go(self) -> None:
        """Let it begin."""
        self._tell("go")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def settle(self, seconds: float) -> None:
        """Wait for an end of its job, also a bad one."""
        wait_until(lambda: self.gone or self.idle, seconds, f"{self.name} ends")

    def finish(self, seconds: float = 90.0) -> None:
        """Wait for the good end of its job."""
        self.settle(seconds)
        assert self.said("end"), self.errors()

    def wait_gone(self, seconds: float = 60.0) -> int:
        """The status of a process that does not survive, once all it reported is here."""
        status = self.process.wait(seconds)
        self._listener.join(seconds)
        return status

    def errors(self) -> str:
        self._errors.seek(0)
        said = "".join(str(each["error"]) for each in self.said("broken"))
        return f"{self.name}: {said}{self._errors.read().decode(errors='replace')[-3000:]}"

    def close(self) -> None:
        if not self.gone:
            self.process.kill()
        self.process.wait()
        self._listener.join(10)
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        self._errors.close()


class WorkerPool:
    """Processes that are kept between jobs; those that died are replaced when needed."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []

    def take(self, count: int) -> list[Worker]:
        self._idle += [Worker() for _ in range(count - len(self._idle))]
        taken, self._idle = self._idle[:count], self._idle[count:]
        return taken

    def give_back(self, worker: Worker) -> None:
        if worker.idle:
            self._idle.append(worker)
        else:
            worker.close()

    def close(self) -> None:
        for worker in self._idle:
            worker.close()
        self._idle = []


_pool = WorkerPool()


def close_workers() -> None:
    """End the processes that wait for jobs; the session does this when it ends."""
    _pool.close()


@contextmanager
def workers(
    module: str,
    asked: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str] | None = None,
    *,
    failpoints: str = "",
) -> Iterator[list[Worker]]:
    """Workers, one for each job, that are ready to go."""
    seen = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    given = seen | dict(environment or {})
    if failpoints:
        given["OMNIGRAPH_FAILPOINTS"] = failpoints
    taken = _pool.take(len(asked))
    try:
        for worker, each in zip(taken, asked, strict=True):
            worker.give(module, each, given)
        for worker in taken:
            worker.wait_ready()
        yield taken
    finally:
        for worker in taken:
            _pool.give_back(worker)


@contextmanager
def one_worker(
    module: str,
    asked: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    *,
    failpoints: str = "",
) -> Iterator[Worker]:
    """The same for one."""
    with workers(module, [asked], environment, failpoints=failpoints) as (worker,):
        yield worker


def run_together(running: Sequence[Worker], seconds: float = 90.0) -> None:
    """Let all go at once and wait for their good end."""
    for worker in running:
        worker.go()
    for worker in running:
        worker.finish(seconds)


class Gate:
    """A file at which a failpoint holds a process: `hold:<gate>`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def at(self, failpoint: str) -> str:
        return f"{failpoint}=hold:{self.path}"

    def wait_held(self) -> None:
        wait_until(self.path.with_suffix(".held").exists, what=f"somebody waits at {self.path}")

    def open(self) -> None:
        self.path.unlink()


def without_queue(root: str) -> None:
    """Put a folder in the place of a local root's lock file: nobody can open it, nobody queues."""
    lock = Path(root) / "__publish.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
