"""Descriptors and lint: examples 31 and 32.

The rules are docs/design/query-language.md#8-descriptors-stored-queries-lint.
"""

from __future__ import annotations

from typing import Any

from omnigraph.query import compile_file, compile_query, lint
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.query.logical.result_schema import result_schema

from .cases import catalog


def described(body: str, params: str = "", schema: str = "stations") -> dict[str, Any]:
    return compile_query(f"query q({params}) {{ {body} }}", catalog(schema)).descriptor.to_json()


def node(name: str) -> dict[str, str]:
    return {"kind": "node", "type_name": name}


def edge(name: str) -> dict[str, str]:
    return {"kind": "edge", "type_name": name}


# --------------------------------------------------------------------------- descriptors


def test_a_read_is_described() -> None:
    body = "match { $s: Station  not { $o runs $s } } return { $s.name, count($s) as n }"
    assert described(body) == {
        "result": [
            {"name": "name", "kind": "string", "nullable": False},
            {"name": "n", "kind": "bigint", "nullable": True},
        ],
        "reads": [node("Operator"), node("Station"), edge("Runs")],
        "writes": [],
    }


def test_a_node_delete_touches_every_edge_type_of_the_node() -> None:
    facts = [node("Station"), edge("Link"), edge("Runs")]
    assert described("delete Station where code = $c", "$c: String") == {
        "result": [],
        "reads": facts,
        "writes": facts,
    }


def test_an_edge_insert_reads_its_ends() -> None:
    body = "insert Link { from: $a, to: $b, minutes: 4 }"
    assert described(body, "$a: String, $b: String") == {
        "result": [],
        "reads": [node("Station"), edge("Link")],
        "writes": [edge("Link")],
    }


def test_an_edge_delete_and_an_update_touch_their_target_only() -> None:
    assert described("delete Link where minutes = 4")["reads"] == [edge("Link")]
    facts = [node("Station")]
    found = described('update Station set { city: "x" } where code = "a"')
    assert (found["reads"], found["writes"]) == (facts, facts)


def test_every_kind_of_result_field() -> None:
    body = """match { $x $w:docks $p  search($x.name, "a") } return {
        $x, $x.name, $x.tons, $x.big, $x.ratio, $x.afloat, $x.built, $x.seen, $x.class, $x.flags,
        $x.vec, $p.title as t, $w.fee, $q, 5, now(), [1.5], search($x.name, "a"),
        nearest($x.vec, $v) }"""
    fields = described(body, "$q: I32?, $v: Vector(2)", "codes")["result"]
    assert [(f["name"], f["kind"], f["nullable"]) for f in fields] == [
        ("x", "object", False),
        ("name", "string", False),
        ("tons", "int", True),
        ("big", "bigint", True),
        ("ratio", "float", True),
        ("afloat", "bool", True),
        ("built", "date", True),
        ("seen", "datetime", True),
        ("class", "string", True),
        ("flags", "list", True),
        ("vec", "vector", True),
        ("t", "string", False),
        ("fee", "float", True),
        ("q", "int", True),
        ("literal", "bigint", False),
        ("now", "datetime", False),
        ("literal", "list", False),
        ("search", "bool", False),
        ("nearest", "float", True),
    ]
    assert fields[9]["item_kind"] == "string"
    assert fields[10]["vector_dim"] == 2
    assert fields[16]["item_kind"] == "float"


def test_an_aggregate_without_an_alias_is_called_after_its_function_in_a_descriptor() -> None:
    fields = described(
        "match { $s: Station } return { count($s), max($s.name), sum($s.platforms) }"
    )
    assert [(f["name"], f["kind"]) for f in fields["result"]] == [
        ("count", "bigint"),
        ("max", "string"),
        ("sum", "float"),
    ]


def test_parameters_are_described_in_the_same_words() -> None:
    source = (
        "query q($a: String, $b: [U32]?, $v: Vector(3), $x: Blob) { delete Station where code=$a }"
    )
    query = compile_query(source, catalog("stations"))
    assert [field.to_json() for field in query.param_descriptors] == [
        {"name": "a", "kind": "string", "nullable": False},
        {"name": "b", "kind": "list", "item_kind": "int", "nullable": True},
        {"name": "v", "kind": "vector", "vector_dim": 3, "nullable": False},
        {"name": "x", "kind": "blob", "nullable": False},
    ]


def test_the_arrow_schema_of_a_result() -> None:
    source = """query q() { match { $s: Station } return { $s.city, $s, count($s.tags),
        avg($s.platforms), max($s.platforms), min($s.city) as m } }"""
    plan = compile_query(source, catalog("stations")).ir
    assert isinstance(plan, ReadPlan)
    fields = [(f.name, str(f.type)) for f in result_schema(plan)]
    assert fields == [
        ("s.city", "string"),
        ("s", "string"),
        ("s.tags", "int64"),
        ("s.platforms", "double"),
        ("s.platforms", "int32"),
        ("m", "string"),
    ]


def test_a_file_compiles_to_its_queries_by_name() -> None:
    source = """
    query one() @description("first") { match { $s: Station } return { $s } }
    query two($c: String) @instruction("careful") { delete Station where code = $c }
    """
    queries = compile_file(source, catalog("stations"))
    assert [(q.name, q.kind, q.description, q.instruction) for q in queries.values()] == [
        ("one", "read", "first", None),
        ("two", "mutation", None, "careful"),
    ]


# --------------------------------------------------------------------------- lint

SETP = "query setp($c: String, $p: I32) { update Station set { platforms: $p } where code = $c }\n"
WIPE = 'query wipe() { delete Operator where code = "Z" }\n'


def test_lint_names_the_nullable_properties_that_no_update_sets() -> None:
    report = lint(SETP, catalog("stations")).to_json()
    (finding,) = report.pop("findings")
    assert report == {"status": "ok", "errors": 0, "warnings": 1, "queries_processed": 1}
    assert finding["severity"] == "warning"
    assert finding["code"] == "L201"
    assert (finding["type_name"], finding["property"]) == ("Station", "tags")
    assert finding["query_names"] == ["setp"]


def test_lint_warns_of_a_mutation_without_parameters() -> None:
    report = lint(SETP + WIPE, catalog("stations"))
    assert (report.status, report.errors, report.warnings) == ("ok", 0, 2)
    uncoded = [finding for finding in report.findings if finding.code is None]
    assert [finding.query_names for finding in uncoded] == [("wipe",)]


def test_lint_of_a_file_that_does_not_parse() -> None:
    report = lint(SETP + "query {", catalog("stations"))
    assert (report.status, report.errors, report.queries_processed) == ("error", 1, 0)
    assert [finding.code for finding in report.findings] == ["Q000"]


def test_lint_goes_on_after_a_query_that_does_not_fit() -> None:
    wrong = "query bad() { match { $s: Statoin } return { $s } }\n"
    mixed = (
        'query mixed($c: String) { insert Operator { code: $c } delete Operator where code="x" }'
    )
    report = lint(wrong + mixed + SETP, catalog("stations"))
    assert (report.status, report.errors, report.warnings) == ("error", 2, 1)
    assert [(f.code, f.query_names) for f in report.findings] == [
        ("T1", ("bad",)),
        (None, ("mixed",)),
        ("L201", ("setp",)),
    ]


def test_only_valid_update_queries_count() -> None:
    wrong = "query bad($c: String) { update Station set { tags: $c } where code = $c }"
    assert lint(wrong, catalog("stations")).warnings == 0
    assert lint(SETP + wrong, catalog("stations")).warnings == 1


def test_several_updates_cover_a_type_together() -> None:
    other = (
        "query tag($c: String, $t: [String]) { update Station set { tags: $t } where code = $c }"
    )
    assert lint(SETP + other, catalog("stations")).findings == ()


def test_keys_and_embedded_vectors_are_nobodys_duty() -> None:
    source = 'query q($t: String) { update Doc set { text: $t } where slug = "a" }'
    assert lint(source, catalog("codes")).findings == ()


def test_findings_are_sorted_by_severity_type_and_property() -> None:
    source = (
        'query p($c: I32) { update Port set { title: "x" } where code = $c }'
        'query s($c: String) { update Ship set { name: "x" } where imo = $c }'
    )
    findings = lint(source, catalog("codes")).findings
    places = [(finding.type_name, finding.property) for finding in findings]
    assert places == sorted(places, key=str)
    assert len(places) == 12
