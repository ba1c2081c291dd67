"""Named points at which a test can kill, fail or pause this process.

`OMNIGRAPH_FAILPOINTS="publish.before=kill;stage.after_table=error@3"`: the action happens at the
n-th time the point is reached (the first by default). `hold:<file>` waits while the file is there.

A test in the same process can `watch` the points instead: a scheduler that orders the steps of
several writers does (tests/simulation).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from omnigraph.errors import StorageError

VARIABLE = "OMNIGRAPH_FAILPOINTS"

BEFORE_CREATE = "create.before"
BEFORE_STAGE = "stage.before"
AFTER_TABLE = "stage.after_table"
AFTER_VALIDATION = "validate.after"
BEFORE_PUBLISH = "publish.before"
AFTER_PUBLISH = "publish.after"
AFTER_HOLD = "backup.after_hold"
AFTER_COPY = "copy.after_file"
AFTER_RECORD = "copy.after_record"
BEFORE_VERSION = "copy.before_version"
AFTER_CLAIM = "copy.after_claim"
AFTER_VERSION = "copy.after_version"
AFTER_REPAIR = "repair.after_file"
NAMES = (
    BEFORE_CREATE,
    BEFORE_STAGE,
    AFTER_TABLE,
    AFTER_VALIDATION,
    BEFORE_PUBLISH,
    AFTER_PUBLISH,
    AFTER_HOLD,
    AFTER_COPY,
    AFTER_RECORD,
    BEFORE_VERSION,
    AFTER_CLAIM,
    AFTER_VERSION,
    AFTER_REPAIR,
)

_reached: dict[str, int] = {}
_watchers: list[Callable[[str], None]] = []


@contextmanager
def watch(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the name of every point that any thread of this process reaches."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def failpoint(name: str) -> None:
    """Do what the environment variable says for this point; nothing by default."""
    for watcher in _watchers:
        watcher(name)
    armed = os.environ.get(VARIABLE)
    if not armed:
        return
    for entry in armed.split(";"):
        point, _, action = entry.partition("=")
        if point != name:
            continue
        action, _, nth = action.partition("@")
        _reached[name] = _reached.get(name, 0) + 1
        if not nth or _reached[name] == int(nth):
            _act(name, action)


def _act(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "error":
        raise StorageError(f"failpoint {name}", hint=f"Unset {VARIABLE}.")
    elif action.startswith("hold:"):
        gate = Path(action.removeprefix("hold:"))
        gate.with_suffix(".held").touch()
        while gate.exists():
            time.sleep(0.005)
