"""Every type code: what it refuses, and the nearest thing that it does not.

The codes are docs/design/query-language.md#9-type-codes.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from omnigraph.errors import InvalidInput, QueryTypeError
from omnigraph.query import compile_query

from .cases import EXAMPLES, catalog

PARAMS = (
    "$s: String, $i: I32, $f: F64, $y: Bool, $d: Date, $t: DateTime, $l: [String], $n: [I64], "
    "$v: Vector(2), $v3: Vector(3), $blob: Blob, $o: String?"
)
WORDS = {"type_error": "type", "parse_error": "parse", "bad_request": "bad"}


def lines() -> list[tuple[str, str]]:
    text = (EXAMPLES / "codes.txt").read_text("utf-8")
    found = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    return [(expected, body) for expected, body in found]


@pytest.mark.parametrize(("expected", "body"), lines())
def test_a_query_is_refused_under_its_code(expected: str, body: str) -> None:
    assert outcome(f"query q({PARAMS}) {{ {body} }}") == expected


def test_every_code_has_triggers_and_a_near_miss() -> None:
    sections = (EXAMPLES / "codes.txt").read_text("utf-8").split("\n# ")
    for section in sections:
        title, *cases = section.splitlines()
        if code := re.match(r"T\d+", title):
            outcomes = Counter(line.split()[0] for line in cases if line)
            assert outcomes[code[0]] >= 2, title
            assert outcomes["ok"] >= 1, title


def outcome(source: str) -> str:
    try:
        compile_query(source, catalog("codes"))
    except QueryTypeError as error:
        assert source.encode()[slice(*error.span)]
        return error.type_code or "type"
    except InvalidInput as error:
        return WORDS[error.code]
    return "ok"


@pytest.mark.parametrize("type_", ["Text", "string", "Vector", "Vector(0)", "[Blob]", "I32(4)"])
def test_an_unknown_parameter_type_is_a_type_error_without_a_code(type_: str) -> None:
    source = f"query q($a: {type_}) {{ match {{ $x: Ship }} return {{ $x }} }}"
    assert outcome(source) == "type"


def test_a_parameter_or_a_query_declared_twice_is_refused() -> None:
    body = "{ match { $x: Ship } return { $x } }"
    assert outcome(f"query q($a: I32, $a: I32) {body}") == "type"
    with pytest.raises(QueryTypeError, match="declared twice"):
        compile_query(f"query q() {body} query q() {body}", catalog("codes"), "q")
