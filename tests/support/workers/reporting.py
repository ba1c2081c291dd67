"""How a worker talks to the test that started it."""

from __future__ import annotations

import json
import sys
from typing import Any


def report(event: str, **facts: Any) -> None:  # noqa: ANN401
    """Say something that survives this process."""
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def wait_for_go() -> None:
    """Be ready, and begin together with the others."""
    report("ready")
    sys.stdin.readline()
