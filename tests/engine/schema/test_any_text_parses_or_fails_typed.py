"""Any text ends in a tree or a typed error, in time that grows with its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.schema.strategies import schemas
from omnigraph.errors import CatalogError, ParseError
from omnigraph.schema import compile_schema, parse

WORDS = (
    "node",
    "interface",
    "edge",
    "implements",
    "enum",
    "Vector",
    "String",
    "[I32]",
    "Ship",
    "a",
)
OPENINGS = ("@key(", "@key", "@unique(", "@range(", "@check(", "@card(", "@embed(", "@default(")
LITERALS = ('"s"', '"\\q"', "1", "2.5", "9x", "true", "é", "id", '@rename_from("x")', '"')
SIGNS = ("{", "}", "(", ")", "[", "]", ",", ":", "->", "..", "-", "?", "=", "/*", "*/", "//", "#")
SNIPPETS = (*WORDS, *OPENINGS, *LITERALS, *SIGNS, "\n")


def outcome(text: str) -> None:
    try:
        compile_schema(text)
    except (ParseError, CatalogError) as error:
        start, end = error.details["span"]
        assert 0 <= start < end
        assert str(error)


@given(st.text())
def test_any_characters(text: str) -> None:
    outcome(text)


@given(st.text(st.characters(categories=("Cs", "Ll", "Zs")), max_size=20))
def test_lone_surrogates(text: str) -> None:
    outcome(text)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(SNIPPETS), max_size=30).map(" ".join))
def test_any_words_of_the_language(text: str) -> None:
    outcome(text)


@settings(max_examples=150)
@given(schemas(), st.data())
def test_any_damage_to_a_good_text(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 5))
    outcome(text[:at] + data.draw(st.sampled_from(SNIPPETS)) + text[at + cut :])


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        "node A { x: " + "[" * 100_000,
        "@" * 100_000,
        "@key " * 30_000,
        "node A { " + "@unique(" * 30_000,
        "/*" * 100_000,
        "/" * 100_000,
        '"' + "\\" * 100_001,
        "node A { @range(x, " + "-" * 50_000,
        "node A { x: I32 @d(" + "9" * 100_000 + ") }",
        "node A { x: F64 @d(" + "9" * 100_000 + ".0) }",
        " \t\r\n" * 50_000,
        "node A { x: I32 " + "@a " * 20_000 + "}",
        "node A { x: enum(" + ",".join(f"v{i}" for i in range(20_000)) + ") }",
        "@ /* x */ " * 20_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.perf_counter()
    outcome(text)
    assert time.perf_counter() - started < 5


def test_a_large_schema_parses_in_linear_time() -> None:
    def text(types: int) -> str:
        body = "\n".join(f'  p{i}: String? @description("text")' for i in range(20))
        return "\n".join(f"node T{i} {{\n{body}\n}}" for i in range(types))

    def took(source: str) -> float:
        started = time.perf_counter()
        parse(source)
        return time.perf_counter() - started

    # The best of three leaves out what else the machine was doing.
    small, large = (min(took(text(types)) for _ in range(3)) for types in (20, 200))
    assert large < small * 30
