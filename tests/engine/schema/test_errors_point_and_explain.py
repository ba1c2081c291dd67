"""A wrong text is answered with a place and with words a person can act on."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.schema import compile_schema, parse

EXPLANATIONS = [
    ("nod A {}", "did you mean 'node'?"),
    ("Node A {}", "did you mean 'node'?"),
    ("node a {}", "a type name starts with a capital letter"),
    ("node A { Name: String }", "a property name starts with a small letter"),
    ("node A { x: string }", "unknown type 'string' (did you mean 'String'?)"),
    ("node A { x: Strng }", "unknown type 'Strng' (did you mean 'String'?)"),
    ("node A { x: int }", "did you mean 'I64'?"),
    ("node A { x: Vector }", "a Vector needs its dimension"),
    ("node A { x: Vector(0) }", "between 1 and 2147483647"),
    ("node A { x: Vector(2147483648) }", "between 1 and 2147483647"),
    ("node A { x: String(3) }", "`String` takes no argument"),
    ("node A { x: [Blob] }", "a list cannot hold Blob"),
    ("node A { x: [[I32]] }", "expected a type name, found `[`"),
    ("node A { x: [enum(a)] }", "expected a type name"),
    ("node A { x: enum() }", "expected an enum value"),
    ("node A { x: enum(a, b, a) }", "enum value `a` is listed twice"),
    ("node A", "the file ends too early: expected"),
    ("node A { x: I32", "the file ends too early"),
    ("edge E: A - > B", "expected `->`, found `-`"),
    ("node A @key(x) { x: I32 }", "a constraint belongs inside the braces"),
    ("interface I { x: I32 @key(x) }", "an interface holds only properties"),
    ('node A { x: String @unique("x") }', 'expected a property name, found `"x"`'),
    ("node A { x: I32 @default(-1) }", "a `-` is only allowed inside the bounds of @range"),
    ("node A { @range(x, ..) }", "expected a number, found `)`"),
    ('node A { x: String @d("\\q") }', "unknown escape `\\q`"),
    ('node A { x: String @d("abc', "this string is never closed"),
    ("/* abc", "this comment is never closed"),
    ("# comment", "`#` is not a comment"),
    ("node Ä {}", "unexpected character 'Ä'"),
    ("edge E: A -> B @foo @card(0..1)", "comes before the annotations"),
    ("node A @card(0..1) {}", "`@card(…)` stands on an edge"),
    ("node A { x: I32,, y: I32 }", "found `,`"),
    ("node A { x: I32 } }", "found `}`"),
    ("node A { x: I32 @foo(a, true=b) }", "expected a string, a number, true or false"),
]


@pytest.mark.parametrize(("text", "words"), EXPLANATIONS)
def test_words(text: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert words in caught.value.problem


def test_place_and_underline() -> None:
    with pytest.raises(ParseError) as caught:
        parse("node Ship {\n  naam: Strng\n}", "fleet.pg")
    error = caught.value
    assert (error.line, error.column) == (2, 9)
    assert str(error) == (
        "fleet.pg:2:9 unknown type 'Strng' (did you mean 'String'?)\n"
        "    naam: Strng\n"
        "          ^^^^^"
    )


def test_spans_count_bytes() -> None:
    text = 'node A @description("äöü") { x: Nope }'
    with pytest.raises(ParseError) as caught:
        parse(text)
    start, end = caught.value.span
    assert text.encode()[start:end] == b"Nope"
    assert caught.value.column == text.index("Nope") + 1


def test_a_span_is_at_least_one_byte_wide() -> None:
    for text in ("node", "node A {", "edge E:"):
        with pytest.raises(ParseError) as caught:
            parse(text)
        start, end = caught.value.span
        assert end - start >= 1


def test_the_first_problem_is_the_one_reported() -> None:
    with pytest.raises(ParseError) as caught:
        parse('nod A { x: "never closed }')
    assert caught.value.span == (0, 3)


def test_rules_point_too() -> None:
    text = "node A { x: String? @key }"
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    start, end = caught.value.span
    assert text[start:end] == "@key"
