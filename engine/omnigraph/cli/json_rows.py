"""Values of entities as JSON (section 10 of the query language) and as text for people."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

_SAFE_INTEGER = 2**53 - 1
_SHOWN = 60


def json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with values that JSON has."""
    return {name: json_value(value) for name, value in row.items()}


def json_value(value: Any) -> Any:  # noqa: ANN401, PLR0911
    """A stored value as JSON keeps it without loss."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else _not_finite(value)
        case datetime():
            return _instant(value)
        case date():
            return value.isoformat()
        case bytes():
            return "base64:" + base64.b64encode(value).decode()
        case list() | tuple():
            return [json_value(item) for item in value]
        case _:
            return str(value)


def shown_value(value: Any) -> str | None:  # noqa: ANN401
    """A stored value in one short line."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    found = json_value(value)
    text = found if isinstance(found, str) else str(found)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _instant(value: datetime) -> str:
    """RFC 3339 in UTC, with 0, 3 or 6 fractional digits."""
    utc = value.astimezone(UTC) if value.tzinfo else value
    micros = utc.microsecond
    precision = (
        "seconds" if not micros else "milliseconds" if micros % 1000 == 0 else "microseconds"
    )
    return utc.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
