"""JSON in texts, accessed by paths, over whole Arrow arrays.

A path is a JSON list of keys and indexes, such as `["a", 0]`. Each distinct text is parsed once
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


def _to_json(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _as_text(value: Any) -> str | None:  # noqa: ANN401
    return value if isinstance(value, str | None) else _to_json(value)


def _as_scalar(value: Any) -> str | None:  # noqa: ANN401
    return None if isinstance(value, dict | list) else _as_text(value)


def contains(value: Any, part: Any) -> bool:  # noqa: ANN401
    """Whether a JSON value contains another: objects by key, lists by element."""
    if isinstance(value, dict) and isinstance(part, dict):
        return all(key in value and contains(value[key], part[key]) for key in part)
    if isinstance(value, list):
        parts = part if isinstance(part, list) else [part]
        return all(any(contains(item, each) for item in value) for each in parts)
    return type(value) is type(part) and bool(value == part)


# --------------------------------------------------------------------------- arrays


def _parsed(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        shown = text if len(text) < 40 else text[:40] + "…"
        problem = InvalidInput(
            f"{shown!r} is not JSON: {error}",
            hint="Test it with json_valid(…) first.",
        )
        raise wrap_for_datafusion(problem) from error


def _value_at(value: Any, path: list[Any]) -> Any:  # noqa: ANN401
    for step in path:
        if isinstance(value, dict):
            value = value.get(str(step), _ABSENT)
        elif isinstance(value, list) and str(step).lstrip("-").isdigit():
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else _ABSENT
        else:
            return _ABSENT
    return value


def _accessor(
    name: str,
    convert: Callable[[Any], Any],
    type_: pa.DataType,
    absent: Any = None,  # noqa: ANN401
) -> ScalarUDF:
    """A function of the value at a path, or of its absence; a text is parsed once for each path."""

    def call(texts: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = pc.binary_join_element_wise(paths, texts, "\n").dictionary_encode()
        values = []
        for pair in pairs.dictionary.to_pylist():
            path, _, text = pair.partition("\n")  # a path holds no line break
            value = _value_at(_parsed(text), json.loads(path))
            values.append(absent if value is _ABSENT else convert(value))
        return pa.array(values, type_).take(pairs.indices)

    return udf(call, [pa.string(), pa.string()], type_, "immutable", name)


def json_valid(texts: pa.Array) -> pa.Array:
    """Whether each text is JSON."""

    def is_json(text: str | None) -> bool | None:
        try:
            return None if text is None else json.loads(text) is not _ABSENT
        except (ValueError, RecursionError):
            return False

    return pa.array([is_json(text) for text in texts.to_pylist()], pa.bool_())


def json_holds(texts: pa.Array, parts: pa.Array) -> pa.Array:
    """Whether each JSON contains the JSON of the same row."""
    pairs = zip(texts.to_pylist(), parts.to_pylist(), strict=True)
    return pa.array(
        [None if a is None or b is None else contains(_parsed(a), _parsed(b)) for a, b in pairs],
        pa.bool_(),
    )


def json_quote(texts: pa.Array) -> pa.Array:
    """Each text as a JSON string; null as JSON's null."""
    return pa.array([json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()])


def register_json_functions(context: SessionContext) -> None:
    """Register the functions of this module."""
    text, number, truth, texts = pa.string(), pa.int64(), pa.bool_(), pa.list_(pa.string())
    for function in (
        _accessor("json_get", _to_json, text),
        _accessor("json_text", _as_text, text),
        _accessor("json_scalar", _as_scalar, text),
        _accessor("json_items", lambda v: len(v) if isinstance(v, list) else 0, number),
        _accessor("json_parts", lambda v: len(v) if isinstance(v, list | dict) else 1, number),
        _accessor("json_names", lambda v: list(v) if isinstance(v, dict) else None, texts),
        _accessor(
            "json_elements",
            lambda v: [_to_json(item) for item in v] if isinstance(v, list) else None,
            texts,
        ),
        _accessor("json_kind", lambda v: _KINDS[type(v)][0], text),
        _accessor("json_kind_of", lambda v: _KINDS[type(v)][1], text),
        _accessor("json_has", lambda v: True, truth, absent=False),
        udf(json_valid, [text], truth, "immutable", "json_valid"),
        udf(json_holds, [text, text], truth, "immutable", "json_holds"),
        udf(json_quote, [text], text, "immutable", "json_quote"),
    ):
        context.register_udf(function)
