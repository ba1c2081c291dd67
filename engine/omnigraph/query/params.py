"""JSON to parameter values (docs/design/query-language.md#2-parameters)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Protocol

from omnigraph.errors import InvalidInput
from omnigraph.query.syntax.temporal_literals import parse_date, parse_datetime
from omnigraph.schema.model.property_types import INTEGER_RANGES, PropertyType, Scalar, finite_float

MAX_SAFE_INTEGER = 2**53 - 1

_MOST = INTEGER_RANGES[Scalar.I64][1]  # the language has no literal above it
_DECIMAL = re.compile(r"-?[0-9]{1,40}", re.ASCII)


class HasParams(Protocol):
    """Anything with declared parameters, such as a CompiledQuery."""

    @property
    def params(self) -> Mapping[str, PropertyType]: ...


def coerce_params(query: HasParams, params: object, strict_js: bool = False) -> dict[str, Any]:
    """The value of every declared parameter; undeclared keys are ignored.

    A Date becomes a `date`, a DateTime a `datetime` in UTC, lists and vectors become lists. With
    `strict_js` a whole number that JavaScript cannot hold exactly must be sent as a string.
    """
    given = {} if params is None else params
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"parameters must be an object, not {_json_name(given)}",
            hint='Send them by name, as in {"name": "value"}.',
        )
    return {name: _param(name, type_, given, strict_js) for name, type_ in query.params.items()}


def _param(name: str, type_: PropertyType, given: Mapping[Any, Any], strict_js: bool) -> Any:  # noqa: ANN401
    value = given.get(name)
    if value is None:
        if type_.nullable:
            return None
        problem = "must not be null" if name in given else "is missing"
        raise _error(name, f"{problem}; it is a {type_}")
    try:
        return _value(value, type_, strict_js)
    except ValueError as error:
        raise _error(name, str(error)) from None


def _error(name: str, problem: str) -> InvalidInput:
    return InvalidInput(f"parameter ${name} {problem}", details={"parameter": name})


def _value(value: object, type_: PropertyType, strict_js: bool) -> Any:  # noqa: ANN401
    if not (type_.is_list or type_.is_vector):
        return _scalar(value, type_.scalar, strict_js)
    if not isinstance(value, list | tuple):
        raise ValueError(f"needs an array for {type_}, not {_json_name(value)}")
    if type_.is_list:
        return [_scalar(item, type_.scalar, strict_js) for item in value]
    if len(value) != type_.dimension:
        raise ValueError(f"needs {type_.dimension} numbers, not {len(value)}")
    return [_float(item, Scalar.F32) for item in value]


def _scalar(value: object, scalar: Scalar, strict_js: bool) -> Any:  # noqa: ANN401
    match scalar:
        case Scalar.STRING | Scalar.BLOB:
            return _text(value)
        case Scalar.BOOL:
            if not isinstance(value, bool):
                raise ValueError(f"needs true or false, not {_json_name(value)}")
            return value
        case Scalar.F32 | Scalar.F64:
            return _float(value, scalar)
        case Scalar.DATE:
            return _date(value)
        case Scalar.DATETIME:
            return _datetime(value)
        case _:
            return _integer(value, scalar, strict_js)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"needs a string, not {_json_name(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("needs a valid Unicode string") from None
    return value


def _integer(value: object, scalar: Scalar, strict_js: bool) -> int:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
        if strict_js and abs(number) > MAX_SAFE_INTEGER:
            raise ValueError(
                f"is beyond ±{MAX_SAFE_INTEGER}, which JavaScript cannot hold; send a string"
            )
    else:
        raise ValueError(f"needs a whole number for {scalar}, not {_json_name(value)}")
    low, high = INTEGER_RANGES[scalar]
    high = min(high, _MOST)
    if not low <= number <= high:
        raise ValueError(f"does not fit {scalar}: {low} to {high}")
    return number


def _float(value: object, scalar: Scalar) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"needs a number, not {_json_name(value)}")
    number = finite_float(value, scalar)
    if number is None:
        unbounded = isinstance(value, float) and not math.isfinite(value)
        raise ValueError("must be finite" if unbounded else f"does not fit {scalar}")
    return number


def _date(value: object) -> date:
    # A caller in Python may have a date already; JSON cannot.
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise ValueError(f"needs an ISO date in a string, not {_json_name(value)}")
    return parse_date(value)


def _datetime(value: object) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if not isinstance(value, str):
        raise ValueError(f"needs an ISO time in a string, not {_json_name(value)}")
    return parse_datetime(value)


def _json_name(value: object) -> str:
    names: dict[type, str] = {
        type(None): "null",
        bool: "a truth value",
        int: "a whole number",
        float: "a number",
        str: "a string",
        list: "an array",
        tuple: "an array",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")
