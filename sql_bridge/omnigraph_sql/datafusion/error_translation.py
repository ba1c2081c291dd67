"""Failures of the engine underneath, in our own terms. No exception of DataFusion leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from omnigraph.errors import InvalidInput, NotFound, OmniGraphError, StorageError

_PREFIX = re.compile(
    r"^(?:DataFusion error: |Error during planning: |Schema error: |SQL error: |"
    r"Execution error: |Arrow error: |External error: |Optimizer rule '[^']*' failed\n?|"
    r"caused by\n?|Invalid argument error: |Cast error: |Parser error: |Internal error: |"
    r"type_coercion\n?|Compute error: )+"
)
_CORRELATED = re.compile(
    r"outer_ref\(|OuterReferenceColumn|logical expression (?:InSubquery|Exists|ScalarSubquery)|"
    r"Correlated scalar subquery|__correlated_sq|<subquery>\) is not yet supported"
)
_NO_FIELD = re.compile(r"No field named (?P<name>.+?)\.(?: Did you mean| Valid fields|\s*$)", re.S)

_INTEGERS = {"Int8": "TINYINT", "Int16": "SMALLINT", "Int32": "INTEGER", "Int64": "BIGINT"}
_NO_ROOM = re.compile(r"Can't cast value (?P<value>\S+) to type (?P<type>U?Int\d+)\b")


@contextmanager
def datafusion_errors() -> Iterator[None]:
    """Turn whatever the engine raises into a typed error."""
    try:
        yield
    except OmniGraphError:
        raise
    except Exception as error:  # noqa: BLE001 - the engine raises plain Exceptions
        raise explained(error) from error


_carried: dict[str, OmniGraphError] = {}
_CARRIED = re.compile(r"omnigraph-failure-[0-9a-f]{32}")


def wrap_for_datafusion(error: OmniGraphError) -> Exception:
    """What to raise inside the engine, which keeps only the text of an exception."""
    token = f"omnigraph-failure-{uuid4().hex}"
    _carried[token] = error
    return RuntimeError(token)


def explained(error: BaseException) -> OmniGraphError:
    """A failure of the engine as a typed error."""
    text = str(error)
    token = _CARRIED.search(text)
    if token:
        ours = _carried.pop(token[0], None)
        if ours is not None:
            return ours
    message = _PREFIX.sub("", text).partition("\nThis issue was likely")[0].strip()
    missing = _NO_FIELD.search(message)
    if missing:
        name = missing["name"].replace('"', "")
        hint = message[missing.end("name") + 1 :].strip().replace('"', "") or None
        return NotFound(f"there is no column {name}", hint=_shortened(hint))
    no_room = _NO_ROOM.search(message)
    if no_room:
        return InvalidInput(
            f"{no_room['value']} does not fit {_INTEGERS.get(no_room['type'], no_room['type'])}",
            hint="Cast to a type that has room for it first, such as BIGINT or DECIMAL(38, 0).",
        )
    if _CORRELATED.search(text):
        return InvalidInput(
            "a subquery uses a column of the query around it in a way that cannot be run",
            hint="Join the subquery instead: GROUP BY what it is compared with, then JOIN … ON it.",
            details={"cause": _shortened(message) or ""},
        )
    if "Resources exhausted" in text:
        return InvalidInput(
            "the statement needs more memory than it may have",
            hint="Read less at once, or raise OMNIGRAPH_SQL_MEMORY.",
            details={"cause": message},
        )
    if "LanceError(IO)" in text or "Object at location" in text:
        return StorageError(
            f"cannot read a table: {message}", hint="Check that the store can be reached."
        )
    return InvalidInput(_shortened(message) or "the statement cannot be run")


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) < 600 else text[:600] + "…"
