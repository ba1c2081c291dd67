"""Values of entities as JSON (section 10 of the query language) and as text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.common.json_values import json_value

_SHOWN = 60


def json_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with values that JSON has."""
    return {name: json_value(value) for name, value in row.items()}


def shown_value(value: Any) -> str | None:  # noqa: ANN401
    """A stored value in one short line."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    found = json_value(value)
    text = found if isinstance(found, str) else str(found)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
