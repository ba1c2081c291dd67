"""The violation records of the schema language, one constructor per kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.errors import ConstraintViolation


def text(value: Any) -> str:  # noqa: ANN401
    """A value as the records show it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _violation(kind: str, what: str, message: str, **facts: Any) -> ConstraintViolation:  # noqa: ANN401
    return ConstraintViolation(kind, f"{kind}({what})", message, facts)


def unique(
    type_name: str, members: Sequence[str], values: Sequence[str], holder: str, offender: str
) -> ConstraintViolation:
    """Two entities have one tuple."""
    if len(members) == 1:
        what = f"{type_name}.{members[0]} = {values[0]}"
    else:
        what = f"{type_name}.({','.join(members)}) = ({','.join(values)})"
    return _violation(
        "unique",
        f"{what}; {holder}, {offender}",
        f"@unique violation: {holder!r} and {offender!r} both have {what}",
        type=type_name,
        members=list(members),
        values=list(values),
        holder=holder,
        id=offender,
    )


def out_of_range(
    type_name: str, prop: str, value: float, bound: float, above: bool
) -> ConstraintViolation:
    """A number is outside its bounds."""
    what = f"{type_name}.{prop} = {text(value)} {'>' if above else '<'} {text(bound)}"
    facts = {"type": type_name, "property": prop, "value": value, "bound": bound}
    return _violation("range", what, f"@range violation: {what}", **facts)


def check(type_name: str, prop: str, value: str, pattern: str) -> ConstraintViolation:
    """A text does not match its pattern."""
    message = f"@check violation: {type_name}.{prop} = {value!r} does not match {pattern!r}"
    facts = {"type": type_name, "property": prop, "value": value, "pattern": pattern}
    return _violation("check", f"{type_name}.{prop} = {value}", message, **facts)


def enum(type_name: str, prop: str, value: str, allowed: Sequence[str]) -> ConstraintViolation:
    """A text is not in its set."""
    message = (
        f"invalid enum value: {type_name}.{prop} = {value!r}, allowed are {', '.join(allowed)}"
    )
    facts = {"type": type_name, "property": prop, "value": value, "allowed": list(allowed)}
    return _violation("enum", f"{type_name}.{prop} = {value}", message, **facts)


def endpoint(
    edge_type: str, end: str, edge_id: str | None, missing: str, expected: str
) -> ConstraintViolation:
    """An edge names a node that does not exist."""
    return _violation(
        "endpoint",
        f"{edge_type}.{end} = {missing}",
        f"{expected} {missing!r} not found: {edge_type}.{end} of edge {edge_id!r} needs it",
        type=edge_type,
        end=end,
        edge_id=edge_id,
        missing_id=missing,
        expected_type=expected,
    )


def cardinality(
    edge_type: str, source: str, count: int, bound: int, above: bool
) -> ConstraintViolation:
    """A source has too many or too few edges."""
    what = f"{source}: {count} {'>' if above else '<'} {bound}"
    message = f"@card violation: {edge_type} from {what}"
    facts = {"type": edge_type, "source_id": source, "count": count, "bound": bound}
    return _violation("card", f"{edge_type}, {what}", message, **facts)
