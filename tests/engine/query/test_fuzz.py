"""Random and damaged texts end in a tree or in a typed error, and soon."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import InvalidInput, ParseError
from omnigraph.query import compile_file, parse

from .cases import EXAMPLES, cases, catalog

SECONDS = 0.2

SOURCES = [(case.schema, case.source) for case in cases()]
BODIES = [
    line.split(maxsplit=1)[1]
    for line in (EXAMPLES / "codes.txt").read_text("utf-8").splitlines()
    if line and line[0] != "#"
]
SOURCES += [("codes", f"query q($s: String, $v: Vector(2)) {{ {body} }}") for body in BODIES]

TEXT = (
    "query match return order limit insert update set delete where not as asc desc contains "
    "starts_with now( date( datetime( search( fuzzy( nearest( bm25( rrf( count( { } ( ) [ ] , : . "
    '? @ < > = != <= >= -1 2.5 true "a" $x $_ $w: $x.name Ship Port tows docks {1,2} // /* */ \\ "'
)
WORDS = TEXT.split(" ")


def soon(schema: str, source: str) -> None:
    start = time.process_time()
    try:
        compile_file(source, catalog(schema))
    except InvalidInput as error:
        assert error.code in ("parse_error", "type_error", "bad_request")
        str(error)
    assert time.process_time() - start < SECONDS


compile_file("", catalog("codes"))  # builds the parser once, outside the measured time


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_parsed_or_refused(source: str) -> None:
    soon("codes", source)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words_are_parsed_or_refused(words: list[str]) -> None:
    soon("codes", " ".join(words))
    soon("codes", f"query q() {{ match {{ {' '.join(words)} }} return {{ $x }} }}")
    soon("codes", f"query q() {{ match {{ $x: Ship }} return {{ {' '.join(words)} }} }}")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SOURCES),
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 12), st.sampled_from(["", *WORDS])),
        min_size=1,
        max_size=3,
    ),
)
def test_a_damaged_query_is_compiled_or_refused(
    case: tuple[str, str], cuts: list[tuple[int, int, str]]
) -> None:
    schema, source = case
    for at, length, insert in cuts:
        place = at % (len(source) + 1)
        source = source[:place] + insert + source[place + length :]
    soon(schema, source)


def test_large_texts_take_time_in_proportion() -> None:
    query = "query q() { match { $x: Ship  not { $x tows $b } } return { $x.name } }\n"
    filters = " $x.tons > 5 " * 5000
    start = time.process_time()
    parse(f"query q() {{ match {{ $x: Ship {filters} }} return {{ $x }} }}")
    for broken in ("/*" * 50_000, '"' + "\\" * 100_001, "$a " * 20_000, query[:-3] * 50):
        try:
            parse(f"query q() {{ match {{ {broken}")
        except ParseError:
            continue
    assert time.process_time() - start < 5
