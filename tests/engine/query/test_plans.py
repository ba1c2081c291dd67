"""What the plan of a query says to whoever runs it."""

from __future__ import annotations

import pytest

from omnigraph.errors import InvalidInput
from omnigraph.query import compile_query
from omnigraph.query.logical.expressions import (
    Aggregate,
    Bm25,
    Compare,
    Contains,
    Literal,
    Membership,
    Nearest,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    TextMatch,
    ranked_variable,
)
from omnigraph.query.logical.logical_plan import (
    DeleteEdges,
    DeleteNodes,
    Expand,
    InsertEdge,
    InsertNode,
    MutationPlan,
    Pattern,
    ReadPlan,
    UpdateNodes,
)
from omnigraph.schema.model.property_types import Scalar

from .cases import catalog

PARAMS = "$s: String, $i: I32, $v: Vector(2), $blob: Blob"


def read(body: str) -> ReadPlan:
    plan = compile_query(f"query q({PARAMS}) {{ {body} }}", catalog("codes")).ir
    assert isinstance(plan, ReadPlan)
    return plan


def pattern(clauses: str) -> Pattern:
    return read(f"match {{ {clauses} }} return {{ 1 }}").pattern


def mutation(body: str) -> MutationPlan:
    plan = compile_query(f"query q({PARAMS}) {{ {body} }}", catalog("codes")).ir
    assert isinstance(plan, MutationPlan)
    return plan


# --------------------------------------------------------------------------- patterns


def test_each_node_variable_has_one_scan_however_often_it_is_bound() -> None:
    found = pattern('$x: Ship { tons: 5 }  $x tows $y  $x: Ship { flags: "a" }')
    assert [(scan.variable, scan.type_name) for scan in found.scans] == [
        ("x", "Ship"),
        ("y", "Ship"),
    ]
    first, second = found.scans[0].predicates
    assert isinstance(first, Compare)
    assert isinstance(second, Membership)


def test_an_edge_variable_has_no_scan() -> None:
    found = pattern("$x $w:docks $p")
    assert {scan.variable for scan in found.scans} == {"x", "p"}
    assert found.variables["w"].kind == "edge"
    assert found.variables["w"].type_name == "Docks"
    assert found.expands == (Expand("x", "Docks", "forward", 1, 1, "p", "w"),)


@pytest.mark.parametrize(
    ("clauses", "direction"),
    [
        ("$a docks $b", "forward"),
        ("$a: Ship  $a docks $b", "forward"),
        ("$a: Port  $a docks $b", "reverse"),
        ("$b: Port  $a docks $b", "forward"),
        ("$b: Ship  $a docks $b", "reverse"),
        ("$a: Ship  $b: Port  $b docks $a", "reverse"),
        ("$a: Ship  $b tows $a", "forward"),
        ("$b: Ship  $a tows $b", "forward"),
        ("$a <tows> $b", "undirected"),
        ("$_ docks $b", "forward"),
        ("$b: Ship  $_ docks $b", "reverse"),
    ],
)
def test_direction_follows_from_what_is_bound(clauses: str, direction: str) -> None:
    (expand,) = pattern(clauses).expands
    assert expand.direction == direction


def test_an_endpoint_takes_the_remaining_type() -> None:
    found = pattern("$a: Port  $a docks $b  $b tows $c")
    assert {n: info.type_name for n, info in found.variables.items()} == {
        "a": "Port",
        "b": "Ship",
        "c": "Ship",
    }


def test_an_edge_between_two_types_is_one_hop_at_most() -> None:
    once, never, chain = pattern("$a docks{1,3} $b  $a docks{2,3} $c  $a tows{2,3} $d").expands
    assert once.is_single_hop
    assert (never.min_hops, never.max_hops) == (2, 1)
    assert (chain.min_hops, chain.max_hops) == (2, 3)


def test_each_anonymous_variable_is_another() -> None:
    found = pattern("$_ tows $x  $x tows $_  $_: Port")
    anonymous = [name for name, info in found.variables.items() if info.anonymous]
    assert len(anonymous) == 3
    first, second = found.expands
    assert first.left != second.right
    assert {scan.variable for scan in found.scans} == {"x", *anonymous}


def test_an_anonymous_edge_binding_is_none() -> None:
    (expand,) = pattern("$x $_:tows $y").expands
    assert expand.edge is None


# --------------------------------------------------------------------------- negation


def test_a_negation_is_correlated_by_the_outer_variables_it_mentions() -> None:
    found = pattern("$x: Ship  $p: Port  not { $x tows $y  $y docks $p  $y.tons > 5 }")
    (negation,) = found.negations
    assert negation.correlated == ("p", "x")
    assert [scan.variable for scan in negation.pattern.scans] == ["y"]
    assert set(negation.pattern.variables) == {"p", "x", "y"}
    assert set(found.variables) == {"p", "x"}


def test_a_nested_negation_sees_every_outer_variable() -> None:
    found = pattern("$x: Ship  not { $x tows $y  not { $y tows $z  $z.tons = $x.tons } }")
    (outer,) = found.negations
    (inner,) = outer.pattern.negations
    assert outer.correlated == ("x",)
    assert inner.correlated == ("x", "y")
    assert [scan.variable for scan in inner.pattern.scans] == ["z"]


def test_the_order_of_clauses_does_not_change_what_a_negation_means() -> None:
    before = pattern("$x: Ship  not { $x tows $y }  $x docks $p  $p contains $y")
    after = pattern("$x: Ship  $x docks $p  $p contains $y  not { $x tows $y }")
    assert before.negations == after.negations
    assert before.negations[0].correlated == ("x", "y")
    assert before.negations[0].pattern.scans == ()


def test_a_variable_bound_late_reaches_into_nested_negations() -> None:
    found = pattern("$x: Ship  not { $x tows $y  not { $y tows $u } }  $x tows $u")
    (outer,) = found.negations
    (inner,) = outer.pattern.negations
    assert outer.correlated == ("u", "x")
    assert "u" in outer.pattern.variables
    assert inner.correlated == ("u", "y")
    assert inner.pattern.scans == ()


def test_a_negation_may_constrain_an_outer_variable() -> None:
    (negation,) = pattern('$x: Ship  not { $x: Ship { name: "a" } }').negations
    (scan,) = negation.pattern.scans
    assert (scan.variable, len(scan.predicates)) == ("x", 1)


def test_siblings_may_use_one_name_for_different_things() -> None:
    first, second = pattern("$x: Ship  not { $x tows $y }  not { $x docks $y }").negations
    assert first.pattern.variables["y"].type_name == "Ship"
    assert second.pattern.variables["y"].type_name == "Port"


# --------------------------------------------------------------------------- conditions


def test_contains_is_membership_or_text() -> None:
    text, member, either = pattern(
        '$x: Ship  $x.name contains $s  $x.flags contains $s  ["a"] contains $x.name'
    ).filters
    assert isinstance(text, Contains)
    assert isinstance(member, Membership)
    assert isinstance(either, Membership)
    assert isinstance(either.item, PropertyRef)


def test_a_fuzzy_search_has_a_distance_of_two_unless_told() -> None:
    default, given, plain = pattern(
        '$x: Ship  fuzzy($x.name, "a")  fuzzy($x.name, "a", $i)  search($x.name, $s)'
    ).filters
    assert isinstance(default, TextMatch)
    assert isinstance(given, TextMatch)
    assert isinstance(plain, TextMatch)
    assert isinstance(default.distance, Literal)
    assert default.distance.value == 2
    assert isinstance(given.distance, Param)
    assert plain.distance is None


def test_a_parameter_hides_a_variable_of_its_name_only_where_a_value_can_stand() -> None:
    plan = read("match { $s: Ship  $s.name = $s } return { $s, $s.tons }")
    (condition,) = plan.pattern.filters
    assert isinstance(condition, Compare)
    assert isinstance(condition.right, Param)
    assert isinstance(plan.columns[0].expr, Param)
    assert isinstance(plan.columns[1].expr, PropertyRef)


# --------------------------------------------------------------------------- reads


def test_columns_are_named_after_what_they_hold() -> None:
    plan = read(
        """match { $x: Ship } return { $x.name, $x, $s, 5, "a", now(), search($x.name, "a"),
        fuzzy($x.name, "a"), match_text($x.name, "a"), nearest($x.vec, $v), bm25($x.name, $s),
        rrf(nearest($x.vec, $v), bm25($x.name, $s)), $x.tons as tons, $x.name }"""
    )
    assert [column.name for column in plan.columns] == [
        "x.name",
        "x",
        "s",
        "literal",
        "literal",
        "now",
        "search",
        "fuzzy",
        "match_text",
        "nearest",
        "bm25",
        "rrf",
        "tons",
        "x.name",
    ]


def test_an_aggregate_is_named_after_its_argument() -> None:
    plan = read(
        "match { $x: Ship } return { count($x), sum($x.tons), count(5), max($x.name) as m }"
    )
    assert [column.name for column in plan.columns] == ["x", "x.tons", "literal", "m"]
    assert plan.group_by == ()


def test_the_other_columns_of_an_aggregate_are_its_group_key() -> None:
    plan = read(
        "match { $x: Ship } return { $x.class, count($x) as n, $x } order { n desc, $x.class }"
    )
    assert plan.group_by == (0, 2)
    assert [(key.by, key.descending) for key in plan.order] == [(1, True), (0, False)]
    assert plan.tie_break == ()
    assert isinstance(plan.columns[1].expr, Aggregate)
    assert isinstance(plan.columns[2].expr, NodeRef)


def test_ties_break_on_every_variable_by_name_edges_included() -> None:
    plan = read("match { $x $w:docks $p  $_ tows $x  $b: Doc } return { $x } order { $x.name }")
    *named, anonymous = plan.tie_break
    assert named == ["b", "p", "w", "x"]
    assert plan.pattern.variables[anonymous].anonymous


def test_variables_of_a_negation_break_no_ties() -> None:
    assert read("match { $x: Ship  not { $x tows $a } } return { $x }").tie_break == ("x",)


def test_a_ranking_call_leads_the_order() -> None:
    plan = read(
        "match { $d: Doc } return { $d } order { nearest($d.vec, [1, 2]), $d.text desc } limit 3"
    )
    assert isinstance(plan.rank, Nearest)
    assert isinstance(plan.rank.query, Literal)
    assert plan.rank.query.value == (1.0, 2.0)
    assert ranked_variable(plan.rank) == "d"
    assert [key.descending for key in plan.order] == [True]
    assert plan.limit == 3


def test_an_alias_of_a_ranking_call_is_the_ranking_call() -> None:
    plan = read(
        "match { $d: Doc } return { bm25($d.text, $s) as score } order { score desc, $d.slug }"
    )
    assert isinstance(plan.rank, Bm25)
    assert len(plan.order) == 1


def test_fusion_has_a_constant_of_sixty_unless_told() -> None:
    order = "order {{ rrf(bm25($d.text, $s), nearest($d.vec, $s){}) }} limit 1"
    default = read("match { $d: Doc } return { $d } " + order.format("")).rank
    given = read("match { $d: Doc } return { $d } " + order.format(", $i")).rank
    assert isinstance(default, Rrf)
    assert isinstance(given, Rrf)
    assert default.k == Literal(60, default.k.type)
    assert isinstance(given.k, Param)


# --------------------------------------------------------------------------- mutations


def test_statements_keep_their_order_and_values() -> None:
    insert, update, edge = mutation(
        """insert Ship { imo: $s, name: "b", ratio: 3, seen: now(), log: $blob }
        update Ship set { tons: $i } where class != "tug"
        insert tows_ { from: "a", to: $s, rope: 1 }""".replace("tows_", "Tows")
    ).statements
    assert isinstance(insert, InsertNode)
    values = {a.property: a.value for a in insert.assignments}
    assert isinstance(values["imo"], Param)
    assert isinstance(values["seen"], Now)
    ratio = values["ratio"]
    assert isinstance(ratio, Literal)
    assert (ratio.value, ratio.type.scalar) == (3.0, Scalar.F64)
    assert isinstance(update, UpdateNodes)
    assert (update.where.property, update.where.operator) == ("class", "!=")
    assert isinstance(edge, InsertEdge)
    assert isinstance(edge.src, Literal)
    assert isinstance(edge.dst, Param)


def test_an_insert_names_the_vectors_it_leaves_to_an_embedder() -> None:
    (left,) = mutation('insert Doc { slug: "a", text: "b" }').statements
    (given,) = mutation('insert Doc { slug: "a", text: "b", vec: [1, 2] }').statements
    assert isinstance(left, InsertNode)
    assert isinstance(given, InsertNode)
    assert (left.embeds, given.embeds) == (("vec",), ())


def test_deletes_of_nodes_and_edges() -> None:
    nodes, by_end, by_property = mutation(
        "delete Ship where imo = $s delete DOCKS where to = $s delete Docks where fee < 1"
    ).statements
    assert isinstance(nodes, DeleteNodes)
    assert isinstance(by_end, DeleteEdges)
    assert isinstance(by_property, DeleteEdges)
    assert (by_end.type_name, by_end.where.end) == ("Docks", "dst")
    assert by_property.where.end is None


def test_a_name_shared_by_a_node_and_an_edge_is_the_node_unless_ends_are_named() -> None:
    first, second = mutation(
        'insert Ship { imo: "a", name: "b" }  insert Ship { from: "a", to: "b" }'
    ).statements
    assert isinstance(first, InsertNode)
    assert isinstance(second, InsertEdge)
    node, edge = mutation('delete Ship where imo = "a"  delete Ship where from = "a"').statements
    assert isinstance(node, DeleteNodes)
    assert isinstance(edge, DeleteEdges)


# --------------------------------------------------------------------------- choosing a query

TWO = """query one() { match { $x: Ship } return { $x } }
query two() { match { $x: Port } return { $x } }"""


def test_a_query_is_chosen_by_name_and_needs_none_when_alone() -> None:
    assert compile_query(TWO, catalog("codes"), "two").name == "two"
    assert compile_query(TWO.splitlines()[0], catalog("codes")).name == "one"


@pytest.mark.parametrize(("source", "name"), [(TWO, None), (TWO, "three"), ("", None), ("", "one")])
def test_an_unknown_or_unclear_name_is_a_bad_request(source: str, name: str | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        compile_query(source, catalog("codes"), name)
    assert caught.value.code == "bad_request"


def test_other_queries_of_a_text_may_be_wrong() -> None:
    wrong = "query bad() { match { $x: Nope } return { $x } }"
    assert compile_query(TWO + wrong, catalog("codes"), "one").kind == "read"
