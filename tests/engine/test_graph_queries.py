"""Queries through `omnigraph.Graph`: reads, mutations, stored queries, plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api import queries
from omnigraph.api.graph import Graph
from omnigraph.errors import (
    ConstraintViolation,
    InvalidInput,
    NotFound,
    ParseError,
    PreconditionFailed,
    QueryTypeError,
)
from omnigraph.exec.graph.bindings import CHUNK
from omnigraph.query import parse
from omnigraph.storage.refs.moments import resolve
from support.graphs import boats, refused

CREWED = """query crewed($least: I32?) {
  match { $b: Boat  $b.crew >= $least } return { $b.name, $b.crew as crew } order { $b.name }
}"""
NAMES = "query names() { match { $b: Boat } return { $b.name as name } order { $b.name } }"
LAUNCH = "query launch($name: String) { insert Boat { name: $name } }"
SINK = "query sink($name: String) { delete Boat where name = $name }"


@pytest.fixture
def graph(root: str) -> Graph:
    """Ada, Bly and Cap; Bly meets Cap."""
    return boats(root)


def names(graph: Graph, at: str = "main") -> list[str]:
    return [row["name"] for row in graph.query(NAMES, at=at).rows()]


# --------------------------------------------------------------------------- results


def test_rows_are_json_objects(graph: Graph) -> None:
    result = graph.query(CREWED, params={"least": 3})
    assert result.rows() == [{"b.name": "Bly", "crew": 3}]
    assert result.to_json() == {
        "query_name": "crewed",
        "target": {"branch": "main", "snapshot": graph.commits()[0].id},
        "row_count": 1,
        "columns": ["b.name", "crew"],
        "rows": [{"b.name": "Bly", "crew": 3}],
        "graph_commit_id": graph.commits()[0].id,
    }
    json.dumps(result.to_json())


def test_results_are_arrow_pandas_and_polars(graph: Graph) -> None:
    result = graph.query(CREWED, params={"least": 0})
    expected = pa.table({"b.name": ["Ada", "Bly"], "crew": pa.array([2, 3], pa.int32())})
    assert result.to_arrow().cast(expected.schema) == expected
    assert result.schema == result.to_arrow().schema
    assert result.to_pandas()["crew"].tolist() == [2, 3]
    assert result.to_polars()["b.name"].to_list() == ["Ada", "Bly"]


def test_a_result_without_rows_keeps_its_types(graph: Graph) -> None:
    result = graph.query(CREWED, params={"least": 99})
    assert result.to_arrow().schema.field("crew").type == pa.int32()
    assert result.to_arrow().num_rows == 0
    assert graph.query(CREWED).rows() == []  # null is at least nothing


def test_a_reader_streams(root: str) -> None:
    graph = omnigraph.init(root, "node N { k: I64 @key }")
    with graph.transaction() as txn:
        txn.insert("N", pa.table({"k": range(600)}))
    text = "query pairs() { match { $a: N  $b: N } return { $a.k as a, $b.k as b } }"
    reader = graph.query(text).reader()
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 600 * 600
    assert len(sizes) > 1
    assert max(sizes) <= CHUNK


def test_columns_of_one_name_are_fine_in_arrow_only(graph: Graph) -> None:
    result = graph.query("query q() { match { $b: Boat } return { $b.name as n, $b.crew as n } }")
    assert result.to_arrow().column_names == ["n", "n"]
    for unique in (result.rows, result.to_json):
        with pytest.raises(InvalidInput, match="two columns are called 'n'"):
            unique()
    with pytest.raises(InvalidInput, match="two columns are called 'n'"):
        result.to_polars()


def test_a_result_keeps_to_its_moment(graph: Graph) -> None:
    result = graph.query(NAMES)
    graph.mutate(LAUNCH, params={"name": "Dot"})
    assert len(result.rows()) == 3
    assert len(graph.query(NAMES).rows()) == 4


# --------------------------------------------------------------------------- moments


def test_reads_at_moments_and_branches(graph: Graph) -> None:
    graph.create_branch("wip")
    then = graph.commits()[0]
    graph.mutate(LAUNCH, params={"name": "Dot"}, branch="wip")
    graph.mutate(SINK, params={"name": "Ada"})
    assert names(graph) == ["Bly", "Cap"]
    assert names(graph, "wip") == ["Ada", "Bly", "Cap", "Dot"]
    for moment in (then.id, f"main@{then.id}", "main@v2", "wip@v2"):
        assert names(graph, moment) == ["Ada", "Bly", "Cap"]
    assert names(graph, "main@v1") == []
    assert graph.query(NAMES, at="wip").branch == "wip"
    for nowhere in ("nowhere", "main@v99"):
        with pytest.raises(NotFound):
            graph.query(NAMES, at=nowhere)


def test_the_commit_of_a_read_guards_a_write(graph: Graph) -> None:
    token = graph.query(NAMES).commit
    graph.mutate(LAUNCH, params={"name": "Dot"}, if_commit=token)
    refused(
        graph,
        PreconditionFailed,
        lambda: graph.mutate(LAUNCH, params={"name": "Eel"}, if_commit=token),
    )


# --------------------------------------------------------------------------- mutations


def test_a_mutation_says_what_it_did(graph: Graph) -> None:
    result = graph.mutate(SINK, params={"name": "Bly"}, actor="ana", message="a storm")
    assert (result.affected_nodes, result.affected_edges, result.branch) == (1, 1, "main")
    assert result.commit is not None
    assert result.commit == graph.commits()[0]
    assert (result.commit.actor, result.commit.message) == ("ana", "a storm")
    assert result.to_json()["commit"]["graph_commit_id"] == result.commit.id
    assert names(graph) == ["Ada", "Cap"]


def test_a_mutation_that_matches_nothing_is_no_commit(graph: Graph) -> None:
    head = graph.commits()[0]
    result = graph.mutate(SINK, params={"name": "Zoe"})
    assert (result.affected_nodes, result.affected_edges, result.commit) == (0, 0, None)
    assert graph.commits()[0] == head


def test_a_broken_rule_changes_nothing(graph: Graph) -> None:
    tow = 'query tow() { insert Tows { from: "Ada", to: "Zoe" } }'
    error = refused(graph, ConstraintViolation, lambda: graph.mutate(tow))
    assert error.notation == "endpoint(Tows.dst = Zoe)"


@pytest.mark.parametrize("target", ["main@v1", "main@{head}", "{head}"])
def test_the_past_cannot_be_changed(graph: Graph, target: str) -> None:
    moment = target.format(head=graph.commits()[0].id)
    refused(
        graph,
        InvalidInput,
        lambda: graph.mutate(LAUNCH, params={"name": "x"}, branch=moment),
    )


# --------------------------------------------------------------------------- what is refused


Call = Callable[[Graph], object]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: g.mutate(NAMES), "names is a read"),
        (lambda g: g.query(LAUNCH), "launch is a mutation"),
        (lambda g: g.explain(LAUNCH), "launch is a mutation"),
        (lambda g: g.query(NAMES, "nmes"), "no query is called 'nmes'.*did you mean 'names'"),
        (lambda g: g.query(NAMES + LAUNCH), "holds 2 queries: names, launch"),
        (lambda g: g.query(), "neither a query text nor"),
        (lambda g: g.mutate(), "neither a query text nor"),
        (lambda g: g.query("query q("), "ends too early"),
        (lambda g: g.query(""), "holds no query"),
        (lambda g: g.mutate(LAUNCH, branch="main@v1"), "snapshot"),
    ],
)
def test_what_a_call_alone_shows_is_refused_before_anything_is_read(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, call: Call, words: str
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the store was asked")

    monkeypatch.setattr(queries, "resolve", read)
    with pytest.raises(InvalidInput, match=words):
        call(graph)


@pytest.mark.parametrize("params", [[1], "x", 5])
def test_parameters_are_an_object(graph: Graph, params: Any) -> None:  # noqa: ANN401
    for run in (graph.query, graph.mutate):
        text = CREWED if run == graph.query else LAUNCH
        with pytest.raises(InvalidInput, match="must be an object"):
            run(text, params=params)


def test_parameters_are_checked_before_rows_are_asked_for(graph: Graph) -> None:
    with pytest.raises(InvalidInput, match=r"\$least needs a whole number"):
        graph.query(CREWED, params={"least": "many"})
    with pytest.raises(InvalidInput, match=r"\$name is missing"):
        graph.mutate(LAUNCH)


def test_errors_point(graph: Graph) -> None:
    with pytest.raises(ParseError) as parse_error:
        graph.query("query q() {\n  mtach { $b: Boat } return { $b } }")
    assert (parse_error.value.line, parse_error.value.column) == (2, 3)
    with pytest.raises(QueryTypeError) as type_error:
        graph.query("query q() { match { $b: Boat } return { $b.crw } }")
    assert type_error.value.type_code == "T6"
    assert "did you mean 'crew'" in type_error.value.message


# --------------------------------------------------------------------------- stored queries


def test_stored_queries_are_called_by_name(graph: Graph) -> None:
    assert graph.register_queries(CREWED + SINK, actor="ana") == ["crewed", "sink"]
    assert [(q.name, q.kind) for q in graph.queries()] == [("crewed", "read"), ("sink", "mutation")]
    assert graph.query(name="crewed", params={"least": 3}).rows()[0]["b.name"] == "Bly"
    assert graph.mutate(name="sink", params={"name": "Ada"}).affected_nodes == 1
    assert graph.stored_query("sink").source == SINK
    assert str(graph.stored_query("crewed").params["least"]) == "I32?"
    assert "read crewed" in graph.explain(name="crewed")


def test_a_stored_query_of_the_other_kind_is_refused(graph: Graph) -> None:
    graph.register_queries(CREWED + SINK)
    refused(graph, InvalidInput, lambda: graph.query(name="sink", params={"name": "Ada"}))
    refused(graph, InvalidInput, lambda: graph.mutate(name="crewed"))


def test_stored_queries_belong_to_a_branch_and_a_moment(graph: Graph) -> None:
    graph.create_branch("wip")
    graph.register_queries(NAMES, branch="wip")
    assert len(graph.query(name="names", at="wip").rows()) == 3
    with pytest.raises(NotFound, match="no stored query 'names'"):
        graph.query(name="names")
    graph.register_queries(NAMES)
    graph.remove_query("names")
    with pytest.raises(NotFound):
        graph.query(name="names")
    assert len(graph.query(name="names", at="main@v3").rows()) == 3
    with pytest.raises(NotFound):
        graph.remove_query("names")


def test_a_stored_query_gets_its_new_text_at_once(graph: Graph) -> None:
    graph.register_queries(NAMES)
    assert len(graph.query(name="names").rows()) == 3
    graph.register_queries(NAMES.replace("$b: Boat", '$b: Boat { name: "Ada" }'))
    assert len(graph.query(name="names").rows()) == 1
    assert len(graph.query(name="names", at="main@v3").rows()) == 3


def test_a_query_follows_the_schema(graph: Graph) -> None:
    graph.register_queries(CREWED)
    graph.query(name="crewed")
    graph.apply_schema(graph.schema().source.replace("crew: I32?", ""))
    with pytest.raises(QueryTypeError, match="T6: stored query crewed:2:"):
        graph.query(name="crewed")
    with pytest.raises(QueryTypeError, match="T6: <text>:2:"):
        graph.query(CREWED)


# --------------------------------------------------------------------------- plans


def test_explain_writes_as_queries_do(graph: Graph) -> None:
    text = 'query q() { match { $b: Boat { name: "Bly" } } return { $b.name } limit 1 }'
    shown = graph.explain(text, analyze=True)
    assert '$b.name = "Bly"' in shown
    assert "1 row in " in shown
    assert "1 rows" not in shown


@pytest.mark.parametrize("text", ["query q() { match { $b: Baot } return { $b } }", "query q("])
def test_errors_name_the_file_that_a_text_comes_from(graph: Graph, text: str) -> None:
    for ask in (graph.query, graph.explain, graph.register_queries):
        with pytest.raises(InvalidInput, match=r"boats\.gq:1:"):
            ask(text, file="boats.gq")
    findings = graph.lint(text, file="boats.gq").findings
    assert "boats.gq:1:" in findings[0].message


def test_explain_shows_steps_and_analyze_runs_them(graph: Graph) -> None:
    text = "query q() { match { $a: Boat  $a meets $b } return { $b.name } }"
    assert "expand" in graph.explain(text)
    assert "1 row in " in graph.explain(text, analyze=True)
    assert " row in " not in graph.explain(text)


def test_a_repeated_query_is_parsed_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def counted(source: str, file: str | None = None) -> Any:  # noqa: ANN401
        texts.append(source)
        return parse(source, file)

    monkeypatch.setattr("omnigraph.query.compile.parse", counted)
    asked = NAMES.replace("names", "parsed_once")
    for name in ("Dot", "Eel", "Fin"):
        graph.query(asked).rows()
        graph.query(asked, at="main@v2").rows()
        graph.explain(asked)
        graph.mutate(LAUNCH.replace("launch", "parsed_once_too"), params={"name": name})
    assert len(texts) == 2


def test_a_moment_is_looked_up_once_while_nothing_is_committed(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []

    def counted(store: Any, at: str) -> Any:  # noqa: ANN401
        looked_up.append(at)
        return resolve(store, at)

    monkeypatch.setattr("omnigraph.api.queries.resolve", counted)
    other = omnigraph.open(graph.uri)
    before = graph.query(NAMES).rows()
    assert graph.query(NAMES).rows() == before
    assert graph.query(NAMES, at="main@v2").rows() == graph.query(NAMES, at="main@v2").rows()
    assert looked_up == ["main", "main@v2"]
    other.mutate(LAUNCH, params={"name": "Gig"})
    assert len(graph.query(NAMES).rows()) == len(before) + 1
    assert looked_up[2:] == ["main", "main"]


def test_lint_reports_everything(graph: Graph) -> None:
    report = graph.lint(NAMES + "query bad() { match { $x: Ghost } return { $x } }")
    assert (report.status, report.errors, report.queries_processed) == ("error", 1, 2)


# --------------------------------------------------------------------------- embeddings

NOTES = (
    'node Note { slug: String @key  body: String  vec: Vector(8) @embed(body, model="offline") }'
)
NEAREST = """query like($text: String) {
  match { $n: Note } return { $n.slug as slug, nearest($n.vec, $text) as far }
  order { nearest($n.vec, $text) } limit 2 }"""
WRITE = "query write($s: String, $b: String) { insert Note { slug: $s, body: $b } }"


@pytest.fixture
def notes(root: str, monkeypatch: pytest.MonkeyPatch) -> Graph:
    for name in ("MODEL", "URL", "KEY"):
        monkeypatch.delenv(f"OMNIGRAPH_EMBEDDING_{name}", raising=False)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDER", "offline")
    graph = omnigraph.init(root, NOTES)
    for slug, body in (("a", "red kite"), ("b", "marsh"), ("c", "stone")):
        graph.mutate(WRITE, params={"s": slug, "b": body})
    return graph


def test_the_configured_embedder_fills_vectors_and_embeds_questions(notes: Graph) -> None:
    first, second = notes.query(NEAREST, params={"text": "marsh"}).rows()
    assert first["slug"] == "b"
    assert first["far"] == pytest.approx(0, abs=1e-6)
    assert second["far"] > 0.1


def test_without_an_embedder_text_is_no_vector(
    notes: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_EMBEDDER")
    with pytest.raises(InvalidInput, match="embedder"):
        notes.query(NEAREST, params={"text": "marsh"}).rows()
    refused(notes, InvalidInput, lambda: notes.mutate(WRITE, params={"s": "d", "b": "x"}))


def test_another_model_than_the_recorded_one_is_refused(
    notes: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDING_MODEL", "other")
    with pytest.raises(InvalidInput, match="other"):
        notes.query(NEAREST, params={"text": "marsh"}).rows()


def test_a_graph_opened_again_answers_the_same(graph: Graph, tmp_path: Path) -> None:
    assert names(omnigraph.open(graph.uri)) == names(graph)
