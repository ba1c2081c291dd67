"""Stored queries belong to a branch and travel through its history."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import omnigraph
from omnigraph.api.stored_queries import (
    StoredQuery,
    find_stored,
    register_queries,
    remove_query,
    stored_queries,
)
from omnigraph.errors import Conflict, InvalidInput, NotFound, ParseError, QueryTypeError
from omnigraph.query import compile_query
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import (
    ALLOCATOR_ID,
    ManifestRow,
    commit_row,
    head_row,
    parse_commit,
    parse_head,
)
from support.graphs import boats, contents, ids, refused, rows

from .harness import affected, mutate, store_of

CREW = """
// Who sails with how many.
query crew($at_least: I32, $flag: String?) @description("Boats with a crew") {
  match { $b: Boat  $b.crew >= $at_least } return { $b.name } order { $b.name }
}

/* { tricky } */ query sink($name: String) @instruction("Ask first") {
  delete Boat where name = $name
} // the end
"""


def register(graph: omnigraph.Graph, text: str, branch: str = "main") -> list[str]:
    return register_queries(store_of(graph), branch, text, actor="ana")


def names(graph: omnigraph.Graph, at: str = "main") -> list[str]:
    return [query.name for query in stored_queries(graph.snapshot(at))]


def find(graph: omnigraph.Graph, name: str, at: str = "main") -> StoredQuery:
    return find_stored(graph.snapshot(at), name)


def test_a_registration_is_one_commit_that_changes_no_entity(root: str) -> None:
    graph = boats(root)
    before, history = contents(graph), graph.commits()
    assert register(graph, CREW) == ["crew", "sink"]
    assert contents(graph) == before
    newest, *older = graph.commits()
    assert older == history
    assert (newest.parent, newest.changed, newest.actor) == (history[0].id, (), "ana")
    assert names(graph) == ["crew", "sink"]
    assert graph.verify(rules=True).ok


def test_a_stored_query_says_how_it_is_called(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    crew, sink = stored_queries(graph.snapshot())
    assert (crew.kind, crew.description, crew.instruction) == ("read", "Boats with a crew", None)
    assert {name: str(type_) for name, type_ in crew.params.items()} == {
        "at_least": "I32",
        "flag": "String?",
    }
    assert crew.source.startswith("// Who sails") and crew.source.endswith("}")
    assert (sink.kind, sink.instruction) == ("mutation", "Ask first")
    assert sink.source.startswith("/* { tricky } */ query sink")
    assert sink.to_json()["params"] == {"name": "String"}
    catalog = graph.schema().catalog
    assert crew.compile(catalog).ir == compile_query(CREW, catalog, "crew").ir


def test_the_same_text_again_is_no_commit(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    head = graph.commits()[0].id
    assert register(graph, CREW) == ["crew", "sink"]
    assert graph.commits()[0].id == head


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (CREW + "query bad() { match { $x: Ghost } return { $x } }", QueryTypeError),
        (CREW + "query crew() { delete Boat where crew = 1 }", InvalidInput),
        (CREW + "query", ParseError),
        ("// nothing", InvalidInput),
    ],
)
def test_one_bad_query_and_none_is_stored(root: str, text: str, kind: type[InvalidInput]) -> None:
    graph = boats(root)
    refused(graph, kind, lambda: register(graph, text))
    assert names(graph) == []


SECOND = 'query sink($name: String) { update Boat set { flag: "X" } where name = $name }'


def test_a_replaced_text_stays_readable_in_the_past(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    then = graph.commits()[0].id
    register(graph, SECOND)
    assert find(graph, "sink").source == SECOND
    assert "delete Boat" in find(graph, "sink", then).source
    assert "delete Boat" in find(graph, "sink", "main@v3").source
    assert names(graph) == ["crew", "sink"]
    assert names(graph, "main@v2") == []
    assert graph.verify(rules=True).ok


def test_a_branch_has_the_queries_of_where_it_was_made(root: str) -> None:
    graph = boats(root)
    early = graph.commits()[0].id
    register(graph, CREW)
    graph.create_branch("wip")
    graph.create_branch("old", early)
    register(graph, SECOND, "wip")
    remove_query(store_of(graph), "main", "crew")
    assert names(graph, "wip") == ["crew", "sink"]
    assert names(graph, "old") == []
    assert names(graph) == ["sink"]
    assert find(graph, "sink", "wip").source == SECOND
    assert find(graph, "sink").source != SECOND
    graph.delete_branch("wip")
    assert graph.verify(rules=True).ok


def test_removing_is_one_commit_and_a_missing_name_is_not_found(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    remove_query(store_of(graph), "main", "crew")
    assert graph.commits()[0].version == 4
    assert names(graph, "main@v3") == ["crew", "sink"]
    refused(graph, NotFound, lambda: remove_query(store_of(graph), "main", "crew"))
    with pytest.raises(NotFound, match="did you mean 'sink'"):
        find(graph, "sing")


def test_data_and_schema_changes_keep_them(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    mutate(graph, 'insert Boat { name: "Dot" }')
    source = graph.schema().source
    graph.apply_schema(source + "node Buoy { no: I32 @key }")
    graph.optimize()
    graph.collect(keep=1)
    reopened = omnigraph.open(root)
    assert names(reopened) == ["crew", "sink"]
    assert reopened.verify(rules=True).ok


def test_a_schema_change_may_break_a_query_and_another_mends_it(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    source = graph.schema().source
    graph.apply_schema(source.replace("crew: I32?", ""))
    broken = find(graph, "crew")
    with pytest.raises(QueryTypeError, match="T6"):
        broken.compile(graph.schema().catalog)
    with pytest.raises(QueryTypeError, match="T6"):
        register(graph, CREW)
    graph.apply_schema(source)
    assert find(graph, "crew").compile(graph.schema().catalog).kind == "read"


def test_a_stored_mutation_runs_by_name_on_its_branch(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    graph.create_branch("wip")
    result = graph.mutate(None, "sink", {"name": "Bly"}, branch="wip", actor="bo")
    assert (affected(result), result.query_name) == ((1, 1), "sink")
    assert ids(graph, "Boat", "wip") == ["Ada", "Cap"]
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    for target in (graph.commits()[0].id, "main@v2"):
        with pytest.raises(InvalidInput, match="past state"):
            graph.mutate(None, "sink", {"name": "Bly"}, branch=target)
    refused(graph, InvalidInput, lambda: graph.mutate(None, "crew", {"at_least": 1}))
    refused(graph, NotFound, lambda: graph.mutate(None, "float", {}))


def test_registrations_and_writes_of_many_threads_all_land(root: str) -> None:
    graph = omnigraph.open(boats(root).uri, retry_budget=50)

    def work(number: int) -> None:
        if number % 2:
            mutate(graph, f'insert Boat {{ name: "b{number}" }}')
        else:
            register(graph, f'query q{number}() {{ delete Boat where name = "b{number}" }}')

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(12)))
    assert names(graph) == sorted(f"q{n}" for n in range(0, 12, 2))
    assert len(rows(graph, "Boat")) == 3 + 6
    assert graph.snapshot().version == 2 + 12
    assert graph.verify(rules=True).ok


def test_verify_sees_a_lost_text(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)

    def lose(view: ManifestView) -> ManifestChange | None:
        texts = [row["object_id"] for row in view.rows("stored_query")]
        if len(texts) == 1:
            return None
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], remove=texts[:1])

    store_of(graph).publisher.change_names(lose)
    findings = graph.verify(rules=True).findings
    assert any("query:crew is missing" in finding.problem for finding in findings)


def test_heads_and_commits_from_before_stored_queries_have_none(root: str) -> None:
    graph = boats(root)
    head = store_of(graph).head("main")
    row, commit = head_row(head), commit_row(graph.commits()[0])
    assert "definitions" not in json.loads(row["metadata"])
    assert "definitions" not in json.loads(commit["metadata"])
    assert dict(parse_head(row).definitions) == dict(parse_commit(commit).definitions) == {}


def test_heads_and_commits_from_when_queries_were_the_only_definitions_still_read(
    root: str,
) -> None:
    graph = boats(root)
    register(graph, CREW)

    def older(row: ManifestRow) -> ManifestRow:
        data = json.loads(row["metadata"])
        definitions = data.pop("definitions")
        data["queries"] = {key.removeprefix("query:"): text for key, text in definitions.items()}
        return row | {"metadata": json.dumps(data)}

    head, commit = store_of(graph).head("main"), graph.commits()[0]
    assert head.definitions
    assert parse_head(older(head_row(head))).definitions == head.definitions
    assert parse_commit(older(commit_row(commit))).definitions == head.definitions


def test_a_stale_removal_is_judged_again(root: str) -> None:
    graph = boats(root)
    register(graph, CREW)
    other = omnigraph.open(root)
    names(other)
    remove_query(store_of(graph), "main", "sink")
    with pytest.raises((NotFound, Conflict)):
        remove_query(store_of(other), "main", "sink")
    assert names(other) == ["crew"]
