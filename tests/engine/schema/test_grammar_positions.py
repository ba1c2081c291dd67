"""No word is reserved; the position decides what it is."""

from __future__ import annotations

from omnigraph.common.lexical import NameNode
from omnigraph.schema import compile_schema, parse
from omnigraph.schema.syntax.tree import LiteralNode


def test_keywords_are_property_names() -> None:
    catalog = compile_schema(
        "node N { node: I32  edge: I32  interface: I32  implements: I32  enum: enum(a)  type: Date"
        "  key: I32  unique: I32  true: Bool  card: I32  @unique(node, edge) }"
    )
    assert len(catalog.node("N").properties) == 10
    assert {"node", "edge", "interface", "implements", "enum"} <= set(catalog.node("N").by_name)


def test_keywords_are_annotation_names_and_arguments() -> None:
    tree = parse("node N @node @edge(node) @interface(enum, implements=1) implements I { }")
    assert [a.name.text for a in tree.nodes[0].annotations] == ["node", "edge", "interface"]
    assert [i.text for i in tree.nodes[0].implements] == ["I"]


def test_an_annotation_is_followed_by_the_next_declaration() -> None:
    tree = parse("node A {} edge E: A -> A @note node B {} edge F: A -> A interface I {}")
    assert [n.name.text for n in tree.nodes] == ["A", "B"]
    assert len(tree.edges) == 2
    assert len(tree.interfaces) == 1


def test_a_constraint_after_a_property_is_no_annotation() -> None:
    tree = parse("node A { email: String @unique(email) }")
    node = tree.nodes[0]
    assert node.properties[0].annotations == ()
    assert len(node.constraints) == 1


def test_trivia_inside_a_constraint_opening() -> None:
    tree = parse("node A { x: I32 @ /* a */ key // b\n ( x ) }")
    assert len(tree.nodes[0].constraints) == 1


def test_words_that_only_start_like_constraints() -> None:
    tree = parse('node A { x: I32 @keyed("a") @index_hint("b") @checks("c") }')
    assert [a.name.text for a in tree.nodes[0].properties[0].annotations] == [
        "keyed",
        "index_hint",
        "checks",
    ]


def test_commas_between_members_are_ignored() -> None:
    catalog = compile_schema("node A { x: I32, y: I32, @index(x), }")
    assert len(catalog.node("A").properties) == 2


def test_enum_values_may_look_like_numbers_and_dashes() -> None:
    tree = parse("node A { x: enum(data-eng, 2x, _none, 42, Upper, --) }")
    assert tree.nodes[0].properties[0].type.values == tuple(
        sorted(("data-eng", "2x", "_none", "42", "Upper", "--"))
    )


def test_strings_unescape() -> None:
    tree = parse(r'node A @note("a\"b\\c\n\r\té") {}')
    assert tree.nodes[0].annotations[0].argument == LiteralNode('a"b\\c\n\r\té', (13, 30))


def test_truth_values_and_bare_words() -> None:
    tree = parse("node A @a(true) @b(word) @c(word, x=false, y=1, z=1.5) {}")
    first, second, third = tree.nodes[0].annotations
    assert isinstance(first.argument, LiteralNode)
    assert first.argument.value is True
    assert isinstance(second.argument, NameNode)
    assert [value.value for _, value in third.keywords] == [False, 1, 1.5]


def test_bounds() -> None:
    tree = parse("node A { @range(x, -1..) @range(x, ..2.5) @range(x, - 3.5..-1) @range(x,0..1) }")
    bounds = [(c.lo, c.hi) for c in tree.nodes[0].constraints]  # type: ignore[union-attr]
    assert bounds == [(-1, None), (None, 2.5), (-3.5, -1), (0, 1)]


def test_cardinality() -> None:
    tree = parse("edge E: A -> B @card(1..) @note edge F: A -> B @card( 0 .. 2 ) {}")
    cards = [edge.cardinality for edge in tree.edges]
    assert [(c.min, c.max) for c in cards if c is not None] == [(1, None), (0, 2)]


def test_type_names_are_spelled_back() -> None:
    spelled = "enum(a, b)? [I32] [String]? Vector(3) Vector(3)? String DateTime? Blob"
    for text in ("enum(b, a)?", *spelled.split(" ")[2:]):
        type_ = parse(f"node A {{ x: {text} }}").nodes[0].properties[0].type
        assert str(type_) == ("enum(a, b)?" if text.startswith("enum") else text)
