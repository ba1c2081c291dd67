"""Durations as people write them: `90s`, `30m`, `24h`, `7d`, `2w`."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta

from omnigraph.errors import InvalidInput

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(rf"([0-9]{{1,9}})\s*([{''.join(_UNITS)}])\Z")


def parse_duration(text: str | timedelta) -> timedelta:
    """The duration that a text names; a `timedelta` is only checked."""
    length = text if isinstance(text, timedelta) else None
    found = _DURATION.match(text.strip()) if isinstance(text, str) else None
    if found is not None:
        with suppress(OverflowError):
            length = timedelta(**{_UNITS[found[2]]: int(found[1])})
    if length is None or length < timedelta(0):
        raise InvalidInput(
            f"{str(text)!r} is not a duration",
            hint="Write a number and a unit: 90s, 30m, 24h, 7d or 2w.",
        )
    return length
