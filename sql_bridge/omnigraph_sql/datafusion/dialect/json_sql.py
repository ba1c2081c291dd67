"""JSON functions and operators: paths become steps, values become JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sqlglot import exp, generator

from omnigraph.errors import InvalidInput
from omnigraph_sql.datafusion.dialect.expression_writer import ExpressionWriter, template

_PART = re.compile(r"""\.?"([^"]*)"|\[\s*'([^']*)'\s*\]|\[\s*(-?\d+)\s*\]|\.?([^.\[\]"]+)""")
_RAW = (
    exp.JSONObject,
    exp.JSONArray,
    exp.ParseJSON,
    exp.JSONExtract,
    exp.JSONBExtract,
    exp.JSONArrayAgg,
    exp.JSONObjectAgg,
    exp.JSONFormat,
)
"""What gives JSON already."""
_BUILDERS = ("json_array", "json_build_array", "jsonb_build_array", "json_build_object",
             "jsonb_build_object", "to_json", "to_jsonb")  # fmt: skip


def steps_sql(self: generator.Generator, path: exp.Expr | None) -> str:
    """The steps of a path as our JSON functions take them."""
    match path:
        case None:
            steps: list[str | int] = []
        case exp.JSONPath():
            steps = [_step(part) for part in path.expressions[1:]]
        case exp.Literal() if not path.is_string:
            steps = [int(path.name)]
        case exp.Literal() if path.name.startswith("{"):
            steps = [part.strip().strip('"') for part in path.name.strip("{}").split(",")]
        case exp.Literal():
            steps = _split(path.name)
        case _:  # a key of each row's own
            return f"concat('[', json_quote(CAST({self.sql(path)} AS VARCHAR)), ']')"
    return self.sql(exp.Literal.string(json.dumps(steps, ensure_ascii=False)))


def _step(part: exp.Expr) -> str | int:
    if isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
        return part.this
    if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int | str):
        return part.this
    raise InvalidInput(
        "a JSON path has keys and indexes only", hint="Write it as '$.key[0].other'."
    )


def _split(path: str) -> list[str | int]:
    """`$.a[0]."b c"` and `/a/0`; a text without either is one key."""
    if path.startswith("/"):
        return list(path[1:].split("/"))
    if not path.startswith("$"):
        return [path]
    steps: list[str | int] = []
    for quoted, bracketed, index, plain in _PART.findall(path[1:]):
        steps.append(int(index) if index else quoted or bracketed or plain)
    return steps


def _reach(name: str) -> ExpressionWriter:
    def write(self: generator.Generator, expression: exp.Expr) -> str:
        steps = steps_sql(self, expression.args.get("expression"))
        return f"{name}({self.sql(expression, 'this')}, {steps})"

    return write


def _scalar(self: generator.Generator, expression: exp.JSONExtractScalar) -> str:
    name = "json_scalar" if expression.args.get("scalar_only") else "json_text"
    return _reach(name)(self, expression)


def value_sql(self: generator.Generator, value: exp.Expr) -> str:
    """A value as JSON: numbers and truths as they are, all else as a string."""
    name = str(value.this).lower() if isinstance(value, exp.Anonymous) else ""
    is_json = isinstance(value, exp.Cast) and value.to.is_type("json", "jsonb")
    if isinstance(value, _RAW) or is_json or name in _BUILDERS:
        return f"coalesce({self.sql(value)}, 'null')"
    text = f"CAST({self.sql(value)} AS VARCHAR)"
    if isinstance(value, exp.Literal) and value.is_string:
        return f"json_quote({text})"
    if isinstance(value, exp.Null):
        return "'null'"
    plain = f"regexp_like(arrow_typeof({self.sql(value)}), '^(Int|UInt|Float|Decimal|Boolean)')"
    return f"CASE WHEN {plain} THEN coalesce({text}, 'null') ELSE json_quote({text}) END"


def _object(self: generator.Generator, pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> str:
    members = [
        f"json_quote(CAST({self.sql(key)} AS VARCHAR)), ':', {value_sql(self, value)}"
        for key, value in pairs
    ]
    inner = ", ',', ".join(members)
    return f"concat('{{', {inner + ', ' if inner else ''}'}}')"


def _list(self: generator.Generator, values: Sequence[exp.Expr]) -> str:
    inner = ", ',', ".join(value_sql(self, value) for value in values)
    return f"concat('[', {inner + ', ' if inner else ''}']')"


def _list_agg(self: generator.Generator, expression: exp.JSONArrayAgg) -> str:
    value, order = expression.this, ""
    if isinstance(value, exp.Order):
        order = f" {self.sql(exp.Order(expressions=value.expressions)).strip()}"
        value = value.this
    return f"concat('[', string_agg({value_sql(self, value)}, ','{order}), ']')"


def _object_agg(self: generator.Generator, expression: exp.Expr) -> str:
    first, *rest = expression.expressions or [expression.this]
    key, value = (first.this, first.expression) if not rest else (first, rest[0])
    member = f"concat(json_quote(CAST({self.sql(key)} AS VARCHAR)), ':', {value_sql(self, value)})"
    return f"concat('{{', string_agg({member}, ','), '}}')"


def _called(name: str) -> ExpressionWriter:
    """A function of one text and perhaps a path."""

    def write(self: generator.Generator, expression: exp.Anonymous) -> str:
        first, *path = expression.expressions
        return f"{name}({self.sql(first)}, {steps_sql(self, path[0] if path else None)})"

    return write


def _path_of_keys(name: str) -> ExpressionWriter:
    def write(self: generator.Generator, expression: exp.Anonymous) -> str:
        first, *keys = expression.expressions
        steps = exp.Literal.string(json.dumps([key.name for key in keys]))
        return f"{name}({self.sql(first)}, {self.sql(steps)})"

    return write


def _contains(self: generator.Generator, expression: exp.Anonymous) -> str:
    text, wanted, *path = expression.expressions
    value = f"json_get({self.sql(text)}, {steps_sql(self, path[0] if path else None)})"
    return f"json_holds({value}, {self.sql(wanted)})"


def _pairs(self: generator.Generator, expression: exp.Anonymous) -> str:
    items = expression.expressions
    return _object(self, list(zip(items[::2], items[1::2], strict=False)))


def _elements(found: str) -> ExpressionWriter:
    return lambda self, e: f"unnest({found}({self.sql(e.expressions[0])}, '[]'))"


JSON_NAMES: dict[str, ExpressionWriter] = {
    **dict.fromkeys(("json_array_length", "jsonb_array_length"), _called("json_items")),
    "json_length": _called("json_parts"),
    **dict.fromkeys(("json_typeof", "jsonb_typeof"), _called("json_kind_of")),
    "json_exists": _called("json_has"),
    "json_value": _called("json_scalar"),
    "json_query": _called("json_get"),
    "json_unquote": _called("json_text"),
    "json_extract_string": _called("json_text"),
    "isjson": lambda self, e: f"CAST(json_valid({self.sql(e.expressions[0])}) AS INT)",
    **dict.fromkeys(
        ("json_extract_path_text", "jsonb_extract_path_text"), _path_of_keys("json_text")
    ),
    **dict.fromkeys(("json_extract_path", "jsonb_extract_path"), _path_of_keys("json_get")),
    "json_contains": _contains,
    **dict.fromkeys(("json_build_object", "jsonb_build_object"), _pairs),
    **dict.fromkeys(
        ("json_array", "json_build_array", "jsonb_build_array"),
        lambda self, e: _list(self, e.expressions),
    ),
    **dict.fromkeys(("to_json", "to_jsonb"), lambda self, e: value_sql(self, e.expressions[0])),
    **dict.fromkeys(("json_array_elements", "jsonb_array_elements"), _elements("json_elements")),
    **dict.fromkeys(("json_object_keys", "jsonb_object_keys"), _elements("json_names")),
}
"""JSON functions that sqlglot has no node for, by name."""

JSONS: dict[type[exp.Expr], ExpressionWriter] = {
    exp.JSONExtract: _reach("json_get"),
    exp.JSONBExtract: _reach("json_get"),
    exp.JSONExtractScalar: _scalar,
    exp.JSONBExtractScalar: _reach("json_text"),
    exp.JSONExtractArray: _reach("json_elements"),
    exp.JSONKeys: _reach("json_names"),
    exp.JSONType: _reach("json_kind"),
    exp.JSONBContains: _reach("json_has"),
    exp.JSONBContainsTopKey: _reach("json_has"),
    exp.JSONObject: lambda self, e: _object(self, [(p.this, p.expression) for p in e.expressions]),
    exp.JSONArray: lambda self, e: _list(self, e.expressions),
    exp.JSONArrayAgg: _list_agg,
    exp.JSONObjectAgg: _object_agg,
    exp.JSONFormat: lambda self, e: value_sql(self, e.this),
    exp.ParseJSON: template("json_get({this}, '[]')"),
    exp.GetExtract: _reach("json_get"),
}
