"""Parameters from JSON: docs/design/query-language.md#2-parameters and example 30."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from omnigraph.errors import InvalidInput
from omnigraph.query import CompiledQuery, coerce_params, compile_query

from .cases import catalog


def query(declared: str) -> CompiledQuery:
    source = f"query q({declared}) {{ match {{ $x: Station }} return {{ $x }} }}"
    return compile_query(source, catalog("stations"))


def one(type_: str, value: object, strict_js: bool = False) -> Any:  # noqa: ANN401
    return coerce_params(query(f"$p: {type_}"), {"p": value}, strict_js)["p"]


HOPS = query("$c: String, $n: I32, $on: Date?")


def test_example_30() -> None:
    assert coerce_params(HOPS, {"c": "AMS", "n": "3"}) == {"c": "AMS", "n": 3, "on": None}
    for wrong in ({"c": "AMS", "n": 3.5}, {"c": None, "n": 1}, {"n": 1}, [1]):
        with pytest.raises(InvalidInput):
            coerce_params(HOPS, wrong)


def test_an_error_names_its_parameter() -> None:
    with pytest.raises(InvalidInput, match=r"\$n needs a whole number") as caught:
        coerce_params(HOPS, {"c": "a", "n": True})
    assert caught.value.details == {"parameter": "n"}
    assert caught.value.code == "bad_request"
    with pytest.raises(InvalidInput, match=r"\$c is missing"):
        coerce_params(HOPS, {"n": 1})


def test_null_and_absent_parameters_are_an_empty_object() -> None:
    assert coerce_params(query(""), None) == {}
    assert coerce_params(query("$a: I32?"), None) == {"a": None}
    with pytest.raises(InvalidInput):
        coerce_params(query("$a: I32"), None)


def test_undeclared_keys_are_ignored() -> None:
    assert coerce_params(query(""), {"x": object()}) == {}


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        ("String", "x", "x"),
        ("Blob", "base64:", "base64:"),
        ("I32", -(2**31), -(2**31)),
        ("I32", "-7", -7),
        ("I64", 2**63 - 1, 2**63 - 1),
        ("I64", "9223372036854775807", 2**63 - 1),
        ("U32", 2**32 - 1, 2**32 - 1),
        ("U64", "9223372036854775807", 2**63 - 1),
        ("F32", 1, 1.0),
        ("F64", 2.5, 2.5),
        ("Bool", False, False),
        ("Date", "2024-02-29", date(2024, 2, 29)),
        ("DateTime", "2024-01-01T00:00:00", datetime(2024, 1, 1, tzinfo=UTC)),
        ("DateTime", "2024-01-01T02:00:00.5+02:00", datetime(2024, 1, 1, 0, 0, 0, 500000, UTC)),
        ("[I32]", [1, "2"], [1, 2]),
        ("[String]", [], []),
        ("[Date]", ["1970-01-01"], [date(1970, 1, 1)]),
        ("Vector(2)", [1, 0.5], [1.0, 0.5]),
        ("I32?", None, None),
        ("[I32]?", [3], [3]),
    ],
)
def test_a_value_is_accepted(type_: str, given: object, value: object) -> None:
    assert one(type_, given) == value
    assert type(one(type_, given)) is type(value)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("String", 5),
        ("String", ["a"]),
        ("String", "\ud800"),
        ("Blob", 5),
        ("I32", 2**31),
        ("I32", "2147483648"),
        ("I32", 3.0),
        ("I32", "3.0"),
        ("I32", " 3"),
        ("I32", "٣"),
        ("I32", ""),
        ("I32", "1" * 5000),
        ("U32", -1),
        ("U64", 2**63),
        ("U64", "9223372036854775808"),
        ("I64", True),
        ("F64", "1.5"),
        ("F64", True),
        ("F64", float("nan")),
        ("F64", 10**400),
        ("F32", 1e39),
        ("Bool", 1),
        ("Bool", "true"),
        ("Date", 19723),
        ("Date", "2024-02-30"),
        ("Date", "2024-01-01T00:00:00Z"),
        ("DateTime", 0),
        ("DateTime", "noon"),
        ("DateTime", "0001-01-01T00:00:00+23:00"),
        ("[I32]", 1),
        ("[I32]", [1, None]),
        ("[I32]", ["x"]),
        ("[String]", "ab"),
        ("Vector(2)", [1]),
        ("Vector(2)", [1, 2, 3]),
        ("Vector(2)", [1, "2"]),
        ("Vector(2)", [1, None]),
        ("I32", None),
    ],
)
def test_a_value_is_refused(type_: str, given: object) -> None:
    with pytest.raises(InvalidInput, match=r"\$p"):
        one(type_, given)


def test_strict_javascript_takes_large_integers_as_strings_only() -> None:
    assert one("I64", 2**53, strict_js=False) == 2**53
    assert one("I64", 2**53 - 1, strict_js=True) == 2**53 - 1
    assert one("I64", str(2**53), strict_js=True) == 2**53
    for type_, given in (("I64", 2**53), ("I64", -(2**53)), ("[I64]", [2**53])):
        with pytest.raises(InvalidInput, match="JavaScript"):
            one(type_, given, strict_js=True)
