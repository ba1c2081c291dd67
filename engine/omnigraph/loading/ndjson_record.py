"""The exact reading of one line: framing, envelope, type, members and values.

Slow and strict. The fast reading in `ndjson_reader` comes here for every line that it cannot prove
valid, so this module decides and explains.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NoReturn

from omnigraph.errors import LoadError, NotFound, ResourceLimit, did_you_mean
from omnigraph.loading.json_property import ValueProblem, check_value, show
from omnigraph.loading.line_framing import Limits
from omnigraph.loading.typed_batch import EntityType
from omnigraph.schema import Catalog, EdgeType
from omnigraph.schema.model.arrow_schema import ROW_COLUMNS

RESERVED = ROW_COLUMNS | {"_tombstone"}
RESERVED_IN_EDGES = RESERVED | {"src", "dst"}
BLANKS = b" \t\r"

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}
# No property takes an integer longer than this; reading one of a million digits takes minutes.
_MOST_DIGITS = 400


@dataclass(frozen=True)
class Record:
    """One record whose members and values are right, except that its id may not fit its key."""

    line: int
    type: EntityType
    data: dict[str, Any]
    src: str | None = None
    dst: str | None = None


def read_record(line: bytes, number: int, catalog: Catalog, limits: Limits) -> Record:
    """The record of one line that is not blank; LoadError or ResourceLimit if it is problem."""
    envelope = _object(line, number, limits)
    _check_envelope(envelope, number)
    type_ = _lookup(envelope, number, catalog)
    data = envelope.get("data", {})
    _check_members(data, type_, number)
    _check_values(data, type_, number)
    return Record(number, type_, data, envelope.get("from"), envelope.get("to"))


# --------------------------------------------------------------------------- framing


class _NotJson(ValueError):
    pass


def repeated_member(text: str) -> str | None:
    """The first member name that an object of the JSON text repeats."""
    return _decode(text)[1]


def _decode(text: str) -> tuple[Any, str | None]:
    repeated: list[str] = []

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.append(next(name for i, name in enumerate(names) if name in names[:i]))
        return members

    value = json.loads(
        text, object_pairs_hook=take, parse_constant=_refuse_constant, parse_int=_integer
    )
    return value, repeated[0] if repeated else None


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJson(f"{name} is not a JSON value")


def _integer(text: str) -> int:
    return int(text[:_MOST_DIGITS])


def _object(line: bytes, number: int, limits: Limits) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1}"
        raise LoadError("invalid_json", f"{place} is not UTF-8", line=number) from None
    if text.count("{") + text.count("[") > limits.depth and _depth(text) > limits.depth:
        raise ResourceLimit("depth", limits.depth, _depth(text))
    try:
        value, repeated = _decode(text)
        if "\\u" in text:
            _check_surrogates(value)
    except RecursionError:
        raise ResourceLimit("depth", limits.depth, _depth(text)) from None
    except _NotJson as error:
        raise LoadError("invalid_json", str(error), line=number) from None
    except json.JSONDecodeError as error:
        raise LoadError("invalid_json", _explain(error, text), line=number) from None
    if not isinstance(value, dict):
        raise LoadError("not_an_object", f"an object is needed, not {show(value)}", line=number)
    if repeated is not None:
        message = f"the member {repeated!r} is given twice in one object"
        raise LoadError("duplicate_member", message, line=number, field=repeated)
    return value


def _explain(error: json.JSONDecodeError, text: str) -> str:
    if text.startswith("\ufeff"):
        return "the line starts with a byte order mark; save the file as UTF-8 without one"
    if error.msg == "Extra data" and text.lstrip().startswith("{"):
        return f"more text follows the object at character {error.pos + 1}; one object per line"
    if error.pos >= len(text.rstrip()):
        return "the line ends before its object does; an object may not span lines"
    return f"not JSON at character {error.pos + 1}: {error.msg}"


def _check_surrogates(value: object) -> None:
    """Half of a surrogate pair is no character; Python's reader lets it pass."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _NotJson("a \\u escape names half of a surrogate pair") from None


def _depth(text: str) -> int:
    steps = (_STEPS.get(character, 0) for character in _STRING.sub("", text))
    return max(accumulate(steps), default=0)


# --------------------------------------------------------------------------- envelope


def _check_envelope(envelope: dict[str, Any], number: int) -> None:
    if ("type" in envelope) == ("edge" in envelope):
        count = "both" if "type" in envelope else "neither"
        message = f'a record has "type" (a node) or "edge" (an edge); this one has {count}'
        raise LoadError("envelope_kind", message, line=number)
    name = "edge" if "edge" in envelope else "type"
    texts = ("edge", "from", "to") if name == "edge" else ("type",)
    type_name = envelope[name] if isinstance(envelope[name], str) else None

    def refuse(message: str, member: str, code: str = "envelope_member") -> NoReturn:
        raise LoadError(code, message, line=number, type_name=type_name, field=member)

    for member in envelope:
        if member in RESERVED:
            refuse(f"the name {member!r} is reserved", member, "reserved_field")
        if member not in (*texts, "data"):
            known = did_you_mean(member, (*texts, "data"))
            refuse(f"a record of this kind has no member {member!r}{known}", member)
    for member in texts:
        if member not in envelope:
            refuse(f"the member {member!r} is missing", member)
        if not isinstance(envelope[member], str):
            refuse(f"{member!r} must be a string, not {show(envelope[member])}", member)
    if not isinstance(envelope.get("data", {}), dict):
        refuse(f"'data' must be an object, not {show(envelope['data'])}", "data")


def _lookup(envelope: dict[str, Any], number: int, catalog: Catalog) -> EntityType:
    is_node = "type" in envelope
    name = envelope["type" if is_node else "edge"]
    try:
        return catalog.node(name) if is_node else catalog.edge(name)
    except NotFound as error:
        raise LoadError("unknown_type", error.message, line=number, type_name=name) from None


# --------------------------------------------------------------------------- data


def _check_members(data: dict[str, Any], type_: EntityType, number: int) -> None:
    for member, value in data.items():
        problem = member_problem(member, type_)
        if problem is None and member == "id" and not isinstance(value, str):
            problem = "id_not_string", f"an id must be a string, not {show(value)}"
        if problem is not None:
            raise LoadError(*problem, line=number, type_name=type_.name, field=member)


def member_problem(name: str, type_: EntityType) -> tuple[str, str] | None:
    """Why a record of the type cannot have a member of that name in its data, if so."""
    reserved = RESERVED_IN_EDGES if isinstance(type_, EdgeType) else RESERVED
    if name in reserved:
        return "reserved_field", f"the name {name!r} is reserved"
    if name == "id" or name in type_.by_name:
        return None
    close = did_you_mean(name, ("id", *type_.by_name))
    return "unknown_field", f"{type_.kind} {type_.name} has no property {name!r}{close}"


def _check_values(data: dict[str, Any], type_: EntityType, number: int) -> None:
    for prop in type_.properties:
        value = data.get(prop.name)
        try:
            if value is not None:
                check_value(value, prop.type)
            elif not prop.nullable:
                raise ValueProblem("null_required", "a value is required")
        except ValueProblem as problem:
            message = f"{type_.name}.{prop.name}: {problem.reason}"
            raise LoadError(
                problem.code, message, line=number, type_name=type_.name, field=prop.name
            ) from None
