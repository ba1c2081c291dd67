"""Durations as people write them: `90s`, `30m`, `24h`, `7d`, `2w`."""

from __future__ import annotations

import re
from datetime import timedelta

from omnigraph.errors import InvalidInput

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(rf"([0-9]{{1,9}})\s*([{''.join(_UNITS)}])\Z")


def parse_duration(text: str | timedelta) -> timedelta:
    """The duration that a text names; a `timedelta` is only checked."""
    if isinstance(text, timedelta):
        length = text
    else:
        found = _DURATION.match(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise _refused(text)
        try:
            length = timedelta(**{_UNITS[found[2]]: int(found[1])})
        except OverflowError as error:
            raise _refused(text) from error
    if length < timedelta(0):
        raise _refused(text)
    return length


def _refused(text: object) -> InvalidInput:
    return InvalidInput(
        f"{str(text)!r} is not a duration",
        hint="Write a number and a unit: 90s, 30m, 24h, 7d or 2w.",
    )
