"""Waiting for something to become true, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 20.0, what: str = "") -> None:
    """Return as soon as it holds; fail when it does not within the time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {seconds:g} s: {what or holds}")
        time.sleep(0.005)
