"""The exact rules for one JSON value of a property, and the message when it breaks one."""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import Error as BadBase64
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any

from omnigraph.common.json_values import BLOB_PREFIX
from omnigraph.schema.model.default_values import parse_date, parse_datetime
from omnigraph.schema.model.property_types import (
    FLOATS,
    INTEGER_RANGES,
    INTEGERS,
    PropertyType,
    Scalar,
    finite_float,
    scalar_type,
)

_DATE_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# What datetime.fromisoformat reads, without its freedom in the separator and without hour 24,
# which only newer Pythons read.
_MOMENT_SHAPE = re.compile(
    r"\d{4}[\dW-]*(?:[T ](?!24)\d{2}[\d:]*(?:[.,]\d+)?(?:Z|[+-]\d{2}[\d:]*(?:[.,]\d+)?)?)?",
    re.ASCII,
)


class ValueProblem(Exception):
    """A value that a property does not accept: the `load_error` code and the reason."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(reason)


def check_value(value: Any, type_: PropertyType) -> None:  # noqa: ANN401
    """Raise `ValueProblem` unless the JSON value is of the type; null is the caller's question."""
    if type_.is_list or type_.is_vector:
        _check_array(value, type_)
    elif type_.is_blob:
        blob_bytes(value)
    else:
        _check_scalar(value, type_.scalar)


def _check_array(value: Any, type_: PropertyType) -> None:  # noqa: ANN401
    words = "an array of numbers" if type_.is_vector else "an array"
    _need(isinstance(value, list), words, value)
    if type_.is_vector and len(value) != type_.dimension:
        raise ValueProblem("vector_dim", f"{type_.dimension} numbers are needed, not {len(value)}")
    element = scalar_type(type_.scalar)
    for position, item in enumerate(value):
        try:
            check_value(item, element)
        except ValueProblem as problem:
            code = "vector_element" if type_.is_vector else problem.code
            raise ValueProblem(code, f"element {position}: {problem.reason}") from None


def _check_scalar(value: Any, scalar: Scalar) -> None:  # noqa: ANN401
    match scalar:
        case Scalar.STRING:
            _need(isinstance(value, str), "a string", value)
        case Scalar.BOOL:
            _need(isinstance(value, bool), "true or false", value)
        case Scalar.DATE if isinstance(value, str):
            date_days(value)
        case Scalar.DATETIME if isinstance(value, str):
            moment_micros(value)
        case _ if scalar in FLOATS:
            _need(_is_number(value), "a number", value)
            if finite_float(value, scalar) is None:
                raise ValueProblem("value_range", f"{show(value)} does not fit {scalar}")
        case _:
            words = "an integer" if scalar in INTEGERS else f"a {scalar} text or an integer"
            _need(_is_number(value) and isinstance(value, int), words, value)
            low, high = INTEGER_RANGES[scalar]
            if not low <= value <= high:
                raise ValueProblem("value_range", f"{show(value)} does not fit {scalar}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _need(fits: bool, words: str, value: object) -> None:
    if not fits:
        raise ValueProblem("value_type", f"{words} is needed, not {show(value)}")


def date_days(text: str) -> int:
    """Days since 1970-01-01 of `YYYY-MM-DD`."""
    return _parsed(text, _DATE_SHAPE, "a date like 2024-01-31", parse_date)


def moment_micros(text: str) -> int:
    """Microseconds since the epoch of an ISO 8601 time; UTC when it names no zone."""
    words = "an ISO 8601 time like 2024-01-31T12:00:00Z"
    return _parsed(text, _MOMENT_SHAPE, words, parse_datetime)


def _parsed(text: str, shape: re.Pattern[str], words: str, parse: Callable[[str], int]) -> int:
    if not shape.fullmatch(text):
        raise ValueProblem("value_type", f"{show(text)} is not {words}")
    try:
        return parse(text)
    except ValueError as error:
        raise ValueProblem("value_range", str(error)) from None


def blob_bytes(value: object) -> bytes:
    """The bytes of `base64:<standard base64>`; the text must be the one way to write them."""
    _need(isinstance(value, str), f'a string "{BLOB_PREFIX}…"', value)
    text = str(value)
    if not text.startswith(BLOB_PREFIX):
        raise ValueProblem(
            "blob_input", f'{show(text)} is not "{BLOB_PREFIX}…"; URIs are not allowed here'
        )
    try:
        payload = text[len(BLOB_PREFIX) :].encode("ascii")
        data = a2b_base64(payload)
    except (BadBase64, UnicodeEncodeError):
        data = payload = b"?"
    if b64encode(data) != payload:
        raise ValueProblem("blob_input", f"{show(text)} is not standard base64 with padding")
    return data


def show(value: object) -> str:
    """A JSON value in an error message: its kind and, when short, its text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "an array"
        case str():
            return f"the string {_short(repr(value))}"
        case _:
            return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
