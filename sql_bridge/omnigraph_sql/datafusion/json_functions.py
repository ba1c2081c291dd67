"""JSON in texts: reached into by steps, over whole Arrow arrays.

Steps are a JSON list of keys and places, such as `["a", 0]`. Each distinct text is parsed once
per batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datafusion import ScalarUDF, SessionContext, udf

from omnigraph.errors import InvalidInput
from omnigraph_sql.datafusion.error_translation import wrap_for_datafusion

_ABSENT = object()
_KINDS: dict[type, tuple[str, str]] = {
    dict: ("OBJECT", "object"),
    list: ("ARRAY", "array"),
    str: ("VARCHAR", "string"),
    bool: ("BOOLEAN", "boolean"),
    int: ("BIGINT", "number"),
    float: ("DOUBLE", "number"),
    type(None): ("NULL", "null"),
}
"""What a value is called by duckdb, and by Postgres."""


def _written(value: Any) -> str | None:  # noqa: ANN401
    if value is _ABSENT:
        return None
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _as_text(value: Any) -> str | None:  # noqa: ANN401
    if value is None or value is _ABSENT:
        return None
    return value if isinstance(value, str) else _written(value)


def _as_scalar(value: Any) -> str | None:  # noqa: ANN401
    return None if isinstance(value, dict | list) else _as_text(value)


def _items(value: Any) -> int | None:  # noqa: ANN401
    if value is _ABSENT:
        return None
    return len(value) if isinstance(value, list) else 0


def _parts(value: Any) -> int | None:  # noqa: ANN401
    if value is _ABSENT:
        return None
    return len(value) if isinstance(value, list | dict) else 1


def _keys(value: Any) -> list[str] | None:  # noqa: ANN401
    return list(value) if isinstance(value, dict) else None


def _elements(value: Any) -> list[str | None] | None:  # noqa: ANN401
    return [_written(item) for item in value] if isinstance(value, list) else None


def _kind(style: int) -> Callable[[Any], str | None]:
    return lambda value: None if value is _ABSENT else _KINDS[type(value)][style]


def contains(value: Any, wanted: Any) -> bool:  # noqa: ANN401
    """Whether a JSON value holds another: objects by key, lists by element."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and contains(value[key], wanted[key]) for key in wanted)
    if isinstance(value, list):
        given = wanted if isinstance(wanted, list) else [wanted]
        return all(any(contains(item, one) for item in value) for one in given)
    return type(value) is type(wanted) and bool(value == wanted)


# --------------------------------------------------------------------------- arrays


def _parsed(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        shown = text if len(text) < 40 else text[:40] + "…"
        problem = InvalidInput(
            f"{shown!r} is not JSON: {error}", hint="Ask json_valid(…) first, or mend the text."
        )
        raise wrap_for_datafusion(problem) from error


def _reached(value: Any, steps: list[Any]) -> Any:  # noqa: ANN401
    for step in steps:
        if isinstance(value, dict):
            value = value.get(str(step), _ABSENT)
        elif isinstance(value, list) and str(step).lstrip("-").isdigit():
            place = int(step)
            value = value[place] if -len(value) <= place < len(value) else _ABSENT
        else:
            return _ABSENT
    return value


def _mapped(
    texts: pa.Array, steps: pa.Array, find: Callable[[Any], Any], gives: pa.DataType
) -> pa.Array:
    """What is found in each text; a text that comes again with the same steps is parsed once."""
    asked = pc.binary_join_element_wise(steps, texts, "\n").dictionary_encode()
    found = []
    for one in asked.dictionary.to_pylist():
        path, _, text = one.partition("\n")  # steps hold no line break
        found.append(find(_reached(_parsed(text), json.loads(path))))
    return pa.array(found, gives).take(asked.indices)


def _reaching(name: str, find: Callable[[Any], Any], gives: pa.DataType) -> ScalarUDF:
    def call(texts: pa.Array, steps: pa.Array) -> pa.Array:
        return _mapped(texts, steps, find, gives)

    return udf(call, [pa.string(), pa.string()], gives, "immutable", name)


def json_valid(texts: pa.Array) -> pa.Array:
    """Whether each text is JSON."""

    def is_json(text: str | None) -> bool | None:
        try:
            return None if text is None else json.loads(text) is not _ABSENT
        except (ValueError, RecursionError):
            return False

    return pa.array([is_json(text) for text in texts.to_pylist()], pa.bool_())


def json_holds(texts: pa.Array, wanted: pa.Array) -> pa.Array:
    """Whether each JSON holds the JSON beside it."""
    pairs = zip(texts.to_pylist(), wanted.to_pylist(), strict=True)
    return pa.array(
        [None if a is None or b is None else contains(_parsed(a), _parsed(b)) for a, b in pairs],
        pa.bool_(),
    )


def json_quote(texts: pa.Array) -> pa.Array:
    """Each text as a JSON string; null as JSON's null."""
    return pa.array([json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()])


def register_json_functions(context: SessionContext) -> None:
    """Make the functions of this module known to an engine."""
    text, number, truth, texts = pa.string(), pa.int64(), pa.bool_(), pa.list_(pa.string())
    for made in (
        _reaching("json_get", _written, text),
        _reaching("json_text", _as_text, text),
        _reaching("json_scalar", _as_scalar, text),
        _reaching("json_items", _items, number),
        _reaching("json_parts", _parts, number),
        _reaching("json_names", _keys, texts),
        _reaching("json_elements", _elements, texts),
        _reaching("json_kind", _kind(0), text),
        _reaching("json_kind_of", _kind(1), text),
        _reaching("json_has", lambda value: value is not _ABSENT, truth),
        udf(json_valid, [text], truth, "immutable", "json_valid"),
        udf(json_holds, [text, text], truth, "immutable", "json_holds"),
        udf(json_quote, [text], text, "immutable", "json_quote"),
    ):
        context.register_udf(made)
