"""Texts to days and moments, for literals and for parameters."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from omnigraph.schema.model import default_values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_date(text: str) -> date:
    """The day of a `YYYY-MM-DD`; ValueError says why not."""
    return _EPOCH.date() + timedelta(days=default_values.parse_date(text))


def parse_datetime(text: str) -> datetime:
    """The moment of an ISO 8601 time, in UTC; ValueError says why not."""
    micros = default_values.parse_datetime(text)
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 in UTC") from None
