"""`@default` literals: which fit a property type, and the value they stand for."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from omnigraph.schema.model.property_types import INTEGER_RANGES, PropertyType, Scalar, finite_float

Stored = str | int | float | bool

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def stored_default(value: Stored, type_: PropertyType) -> Stored:
    """The value as it is stored (days for a Date, microseconds for a DateTime).

    ValueError says, in the words of the message to show, why the literal does not fit.
    """
    if type_.is_enum:
        if value not in type_.values or not isinstance(value, str):
            raise ValueError(f"@default must be one of {', '.join(type_.values)}")
        return value
    if not type_.is_scalar or type_.is_blob:
        raise ValueError(f"@default cannot be given for {type_}")
    match type_.scalar:
        case Scalar.STRING:
            return _expect(value, str, "a text in quotes")
        case Scalar.BOOL:
            return _expect(value, bool, "true or false")
        case Scalar.F32 | Scalar.F64:
            return _float(value, type_.scalar)
        case Scalar.DATE:
            return parse_date(value) if isinstance(value, str) else _integer(value, Scalar.I32)
        case Scalar.DATETIME:
            return parse_datetime(value) if isinstance(value, str) else _integer(value, Scalar.I64)
        case integer:
            return _integer(value, integer)


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of a `YYYY-MM-DD`."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date like 2024-01-31")
    try:
        return (date.fromisoformat(text) - _EPOCH.date()).days
    except ValueError:
        raise ValueError(f"{text!r} is not a day of the calendar") from None


def parse_datetime(text: str) -> int:
    """Microseconds since the epoch of an ISO 8601 time; UTC when it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 time like 2024-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _expect(value: Stored, kind: type, words: str) -> Stored:
    if not isinstance(value, kind):
        raise ValueError(f"@default needs {words} here")
    return value


def _integer(value: Stored, scalar: Scalar) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("@default needs a whole number here")
    low, high = INTEGER_RANGES[scalar]
    if not low <= value <= high:
        raise ValueError(f"@default {value} does not fit {scalar}")
    return value


def _float(value: Stored, scalar: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("@default needs a number here")
    if finite_float(value, scalar) is None:
        raise ValueError(f"@default {value} does not fit {scalar}")
    return float(value)
