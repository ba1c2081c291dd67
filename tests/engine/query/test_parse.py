"""Any text ends in a tree or in a ParseError that points at the first problem."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.query import parse
from omnigraph.query.syntax.lexer import MAX_NESTING
from omnigraph.query.syntax.tree import (
    BindingTree,
    ClauseTree,
    FilterTree,
    MutationTree,
    NegationTree,
    QueryTree,
    ReadTree,
    TextTree,
    TraversalTree,
)


def only(source: str) -> QueryTree:
    (query,) = parse(source).queries
    return query


def read(source: str) -> ReadTree:
    body = only(source).body
    assert isinstance(body, ReadTree)
    return body


def clauses(text: str) -> tuple[ClauseTree, ...]:
    return read(f"query q() {{ match {{ {text} }} return {{ $a }} }}").clauses


def kinds(text: str) -> list[type]:
    return [type(clause) for clause in clauses(text)]


# --------------------------------------------------------------------------- clauses


def test_clauses_need_no_separator() -> None:
    text = """$a:T $a.p=1 $a e $b not{$a e $c}search($a.p,"x")$a $w:e{1,2}$b"x"contains $a.p"""
    assert kinds(text) == [
        BindingTree,
        FilterTree,
        TraversalTree,
        NegationTree,
        TextTree,
        TraversalTree,
        FilterTree,
    ]


def test_contains_between_bare_variables_is_an_edge() -> None:
    assert kinds("$a contains $b") == [TraversalTree]
    assert kinds("$a contains{1,2} $b") == [TraversalTree]
    assert kinds("$a starts_with $b") == [TraversalTree]


def test_contains_with_anything_else_is_an_operator() -> None:
    for text in ('$a contains "x"', "$a contains $b.p", "$a.p contains $b", '"x" contains $b.p'):
        assert kinds(text) == [FilterTree], text


def test_angles_are_an_edge_after_a_variable_and_a_comparison_after_a_property() -> None:
    assert kinds("$a <e> $b") == [TraversalTree]
    assert kinds("$a $w: < e > $b") == [TraversalTree]
    assert kinds("$a.p < 5 $b.p > 5") == [FilterTree, FilterTree]
    assert kinds("$a < $b") == [FilterTree]


def test_a_small_letter_after_the_colon_makes_a_traversal_and_a_capital_a_binding() -> None:
    assert kinds("$a.p = $x $w: T") == [FilterTree, BindingTree]
    assert kinds("$a e $x $w: T") == [TraversalTree, BindingTree]
    assert kinds("$x $w:t $a") == [TraversalTree]


def test_a_search_call_is_a_clause_or_an_operand() -> None:
    assert kinds('search($a.p, "x") $a: T') == [TextTree, BindingTree]
    assert kinds('search($a.p, "x") = true $a: T') == [FilterTree, BindingTree]


def test_no_word_is_reserved() -> None:
    words = "query match return order limit insert update set delete where as asc desc contains"
    words += " starts_with true false now date datetime search fuzzy nearest count sum rrf not_"
    for word in words.split():
        source = f"""query {word}(${word}: String) {{
            match {{ ${word}: T {{ {word}: true, }} ${word} {word} $b ${word}.{word} = ${word}
                     $a $w:{word} $b  $a <{word}> $b  $a {word}{{1,2}} $b }}
            return {{ ${word}.{word} as {word}, ${word}.{word} }}
            order {{ {"x" if word in ("true", "false") else word} desc, ${word}.{word} asc }}
        }}
        query m() {{ insert T {{ {word}: 1 {word}: true }} update T set {{ {word}: now() }}
                     where {word} = false delete T where {word} >= -1 }}"""
        first, second = parse(source).queries
        assert first.name.text == word
        assert isinstance(first.body, ReadTree)
        assert len(first.body.clauses) == 6, word
        assert isinstance(second.body, MutationTree)


def test_not_is_no_edge_but_may_begin_one() -> None:
    with pytest.raises(ParseError, match="`not` cannot name an edge"):
        parse("query q() { match { $a not $b } return { $a } }")
    assert kinds("$a notes $b") == [TraversalTree]
    assert kinds("$a.p = $b not { $a e $b }") == [FilterTree, NegationTree]


# --------------------------------------------------------------------------- the rest


def test_items_and_sets_take_or_leave_their_commas() -> None:
    source = 'query q() { match { $a: T } return { $a.p as x $a.q, 5 -3 "s" now(), } }'
    assert len(read(source).items) == 6
    body = only("query q() { insert T { a: 1 b: -2.5, c: [1, 2] d: $x, } }").body
    assert isinstance(body, MutationTree)
    assert len(body.statements) == 1


def test_notes_may_stand_once_each_in_any_order() -> None:
    body = "{ match { $a: T } return { $a } }"
    query = only(f'query q() @instruction("b") @description("a\\n\\"") {body}')
    assert (query.description, query.instruction) == ('a\n"', "b")
    for notes in ('@description("a") @description("b")', '@note("a")', "@description(a)"):
        with pytest.raises(ParseError):
            parse(f"query q() {notes} {body}")


def test_comments_and_line_ends_mean_nothing() -> None:
    spaced = "query q ( ) /* a */ { match // b\r\n { $a : T /* */ { } } return { $a . p } limit 0 }"
    assert read(spaced).limit == 0


def test_an_empty_file_holds_no_queries() -> None:
    assert parse("// nothing").queries == ()


def test_spans_are_bytes() -> None:
    source = 'query q() { match { $a.p = "é" $b.q = "ü" } return { $a } }'
    second = read(source).clauses[1]
    assert isinstance(second, FilterTree)
    assert source.encode()[slice(*second.span)].decode() == '$b.q = "ü"'


def test_an_error_points_at_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("query q() {\n  match { $a: T }\n  retrn { $a }\n}", file="a.gq")
    assert str(caught.value) == (
        "a.gq:3:3 expected `return`, found `retrn`\n    retrn { $a }\n    ^^^^^"
    )
    assert caught.value.span == (32, 37)


@pytest.mark.parametrize(
    "opening", ["not { ", "not { $a e $b ", "$a.p = [", "[", "search(", "count(", "$a: T { p: ["]
)
def test_deep_nesting_is_refused_before_it_can_hurt(opening: str) -> None:
    first = "" if opening.startswith(("not", "$")) else "$a.p = "
    again = opening if opening.startswith(("not", "[", "search", "count")) else "["
    with pytest.raises(ParseError, match=f"deeper than {MAX_NESTING}") as caught:
        parse("query q() { match { " + first + opening + again * 50_000)
    assert len(str(caught.value)) < 1000


def test_nesting_within_the_limit_is_fine() -> None:
    depth = MAX_NESTING - 2
    text = "not { " * depth + "$a e $b" + " }" * depth
    assert kinds(text) == [NegationTree]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("query q() { match { $a: T and $b: T } return { $a } }", "comparison"),
        ("query q() { match { $a.p == 1 } return { $a } }", "single `=`"),
        ("query q() { match { ($a.p = 1) } return { $a } }", "group nothing"),
        ("query q() { match { $a: t } return { $a } }", "capital letter"),
        ("query q() { match { $a: T } return { $a as B } }", "small letter"),
        ("query q() { match { $a.p = 1e5 } return { $a } }", "exponent"),
        ("query q() { match { $a.p = 'x' } return { $a } }", "double quotes"),
        ("query q() { match { $A: T } return { $A } }", "small letters"),
        ("query q() { match { $a: T } return { $a } # c", "not a comment"),
        ('query q() { match { $a.p = "x', "never closed"),
        ("query q() { /* ", "never closed"),
        ("query q() { match { $a: T }", "ends too early"),
        ("query q { }", "expected `(`"),
    ],
)
def test_an_error_says_what_to_do(text: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert words in caught.value.problem
