"""Exceptions of DataFusion as typed errors; none of them leaves the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from omnigraph.errors import Corruption, InvalidInput, NotFound, OmniGraphError, StorageError

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

_NO_FILE = re.compile(r"Not found: \S+\.(?:lance|manifest|arrow|bin)\b")
_DAMAGE = re.compile(
    r"corrupt file|producer terminated|protobuf|panicked|/rust/lance-(?:encoding|file)/", re.I
)
"""How Lance says that a file does not parse."""

_INTEGERS = {"Int8": "TINYINT", "Int16": "SMALLINT", "Int32": "INTEGER", "Int64": "BIGINT"}
_OVERFLOW = re.compile(r"Can't cast value (?P<value>\S+) to type (?P<type>U?Int\d+)\b")


@contextmanager
def datafusion_errors() -> Iterator[None]:
    """Turn every exception of DataFusion into a typed error."""
    try:
        yield
    except OmniGraphError:
        raise
    except Exception as error:  # noqa: BLE001 - DataFusion raises plain Exceptions
        raise explained(error) from error


_wrapped: dict[str, OmniGraphError] = {}
_TOKEN = re.compile(r"omnigraph-failure-[0-9a-f]{32}")


def wrap_for_datafusion(error: OmniGraphError) -> Exception:
    """An exception to raise inside DataFusion, which keeps only its text."""
    token = f"omnigraph-failure-{uuid4().hex}"
    _wrapped[token] = error
    return RuntimeError(token)


def explained(error: BaseException) -> OmniGraphError:
    """An exception of DataFusion as a typed error."""
    text = str(error)
    token = _TOKEN.search(text)
    if token and (wrapped := _wrapped.pop(token[0], None)) is not None:
        return wrapped
    message = _PREFIX.sub("", text).partition("\nThis issue was likely")[0].strip()
    missing = _NO_FIELD.search(message)
    if missing:
        name = missing["name"].replace('"', "")
        hint = message[missing.end("name") + 1 :].strip().replace('"', "") or None
        return NotFound(f"there is no column {name}", hint=_shortened(hint))
    overflow = _OVERFLOW.search(message)
    if overflow:
        return InvalidInput(
            f"{overflow['value']} does not fit {_INTEGERS.get(overflow['type'], overflow['type'])}",
            hint="Cast to a wider type first, such as BIGINT or DECIMAL(38, 0).",
        )
    if _CORRELATED.search(text):
        return InvalidInput(
            "this form of correlated subquery is not supported",
            hint="Join the subquery instead: GROUP BY what it is compared with, then JOIN … ON it.",
            details={"cause": _shortened(message) or ""},
        )
    if "Resources exhausted" in text:
        return InvalidInput(
            "the statement needs more memory than is allowed",
            hint="Read less at once, or raise OMNIGRAPH_SQL_MEMORY.",
            details={"cause": message},
        )
    if _NO_FILE.search(message):
        return Corruption(
            f"a file of a table is missing: {message}",
            hint="Run `omnigraph verify` to see what is affected.",
        )
    if _DAMAGE.search(text):
        return Corruption(
            f"a file of a table cannot be decoded: {_shortened(message)}",
            hint="Run `omnigraph verify --deep` to see which file it is.",
        )
    if "LanceError(IO)" in text or "Object at location" in text:
        return StorageError(
            f"cannot read a table: {message}", hint="Check that the store can be reached."
        )
    return InvalidInput(_shortened(message) or "the statement cannot be run")


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) < 600 else text[:600] + "…"
