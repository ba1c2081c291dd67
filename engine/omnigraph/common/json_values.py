"""Values as JSON keeps them without loss.

The rules are docs/design/query-language.md#10-execution-and-json-rows.
"""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime
from typing import Any

BLOB_PREFIX = "base64:"
_SAFE_INTEGER = 2**53 - 1


def json_value(value: Any) -> Any:  # noqa: ANN401, PLR0911
    """A value as JSON keeps it without loss."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _SAFE_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else json.dumps(value)  # NaN, -Infinity
        case datetime():
            return _instant(value)
        case date():
            return value.isoformat()
        case bytes():
            return BLOB_PREFIX + base64.b64encode(value).decode()
        case list() | tuple():
            return [json_value(item) for item in value]
        case _:
            return str(value)


def _instant(value: datetime) -> str:
    utc = value.astimezone(UTC) if value.tzinfo else value
    precision = "auto" if utc.microsecond % 1000 or not utc.microsecond else "milliseconds"
    return utc.replace(tzinfo=None).isoformat(timespec=precision) + "Z"
