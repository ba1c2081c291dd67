"""Optimizing changes how tables are kept, and nothing of what anybody reads."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.query import compile_query
from omnigraph.schema import compile_schema
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.maintenance import optimize
from omnigraph.storage.maintenance.collect import CollectReport
from omnigraph.storage.tables import indexes
from omnigraph.storage.tables.tables import TableStore
from oracle.plain import plain_graph
from oracle.random_graphs import RandomGraph, graphs
from oracle.random_queries import queries, rankings
from oracle.test_engine_agrees import MODES, check
from support.graphs import contents, ndjson
from support.social import add_person, assert_sound, edge, people, social_graph

INDEXED = """
node Note { name: String @key  n: I64? @index  f: F64? @index  s: String? @index
            e: enum(x, y)? @index  b: Bool? @index  d: Date? @index  t: DateTime? @index
            v: Vector(2)? @index }
"""


@contextmanager
def notes() -> Iterator[Graph]:
    with tempfile.TemporaryDirectory() as folder:
        yield omnigraph.init(Path(folder) / "graph", INDEXED)


def index_segments(graph: Graph, table_key: str) -> dict[str, int]:
    """The indexes of a table, and of how many segments each is made."""
    pointer = graph._store.head("main").tables[table_key]
    segments = graph._store.tables.index_segments(TableVersion(pointer.location, pointer.lance))
    return {name: len(parts) for name, parts in segments.items()}


# --------------------------------------------------------------------------- answers stay

TEXTS = st.sampled_from(
    [None, "", "a", "ab", "abc", "abcd", "ABC", "a%c", "a_c", "a.c", "a\nbc", "x abc y", "Äpfel"]
    + ["äpfel", "A\u0308pfel", "日本語", "it's", "\\abc", "abc" * 50, " abc", "\u0000abc", "ﬁne"]
)
NUMBERS = st.none() | st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])
FLOATS = st.sampled_from([None, 0.0, -0.0, 1.5, -1.5, 5e-324, 1.7e308])
DAYS = st.sampled_from([None, date(1969, 12, 31), date(1970, 1, 1), date(2026, 1, 1)])
TIMES = st.sampled_from([None, datetime(1969, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)])
NOTES = st.lists(
    st.fixed_dictionaries(
        {
            "n": NUMBERS,
            "f": FLOATS,
            "s": TEXTS,
            "e": st.sampled_from([None, "x", "y"]),
            "b": st.sampled_from([None, True, False]),
            "d": DAYS,
            "t": TIMES,
            "v": st.sampled_from([None, [0.0, 1.0], [1.0, 1.0]]),
        }
    ),
    min_size=1,
    max_size=12,
)


def quoted(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
CONDITIONS = st.one_of(
    st.builds(lambda op, v: f"n {op} {v}", OPERATORS, st.integers(-4, 4)),
    st.builds(lambda op, v: f"f {op} {v}", OPERATORS, st.sampled_from(["0.0", "-0.0", "1.5", "2"])),
    st.builds(lambda op, v: f"s {op} {quoted(v)}", OPERATORS, TEXTS.filter(bool)),
    st.builds(lambda v: f"contains(s, {quoted(v)})", TEXTS.filter(lambda v: v is not None)),
    st.builds(lambda v: f"s LIKE {quoted(v)}", TEXTS.filter(lambda v: v is not None)),
    st.builds(lambda v: f"s LIKE {quoted(f'%{v}%')}", TEXTS.filter(bool)),
    st.builds(lambda v: f"starts_with(s, {quoted(v)})", TEXTS.filter(bool)),
    st.builds(lambda v: f"s NOT LIKE {quoted(f'%{v}%')}", TEXTS.filter(bool)),
    st.builds(lambda a, b: f"n BETWEEN {a} AND {b}", st.integers(-4, 4), st.integers(-4, 4)),
    st.builds(lambda v: f"s IN ({quoted(v)}, 'abc')", TEXTS.filter(bool)),
    st.sampled_from(["e = 'x'", "e != 'x'", "b", "NOT b", "b = false", "n NOT IN (1, 2)"]),
    st.sampled_from([f"{column} IS NULL" for column in "nfsebdtv"]),
    st.sampled_from([f"{column} IS NOT NULL" for column in "nfsebdtv"]),
    st.sampled_from(["d < date '1970-01-01'", "d >= date '1970-01-01'", "NOT (n > 0)"]),
)
BOTH = st.builds(
    lambda a, o, b: f"({a}) {o} ({b})", CONDITIONS, st.sampled_from(["AND", "OR"]), CONDITIONS
)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    st.lists(NOTES, min_size=2, max_size=4), st.lists(CONDITIONS | BOTH, min_size=12, max_size=30)
)
def test_no_filter_finds_other_rows(batches: list[list[dict[str, Any]]], wanted: list[str]) -> None:
    """With every kind of index over every kind of value, in some or all fragments, or in none."""
    with notes() as graph:
        for number, batch in enumerate(batches):
            rows = [{"name": f"{number}-{i}"} | row for i, row in enumerate(batch)]
            with graph.transaction() as txn:
                txn.insert("Note", rows)
            if number == 0:
                graph.optimize()
        before = {condition: found(graph, condition) for condition in wanted}
        graph.optimize()
        assert {condition: found(graph, condition) for condition in wanted} == before
        kinds = {"btree", "inverted", "ngram"}
        assert {name.rpartition("_")[2] for name in index_segments(graph, "node:Note")} == kinds


def found(graph: Graph, condition: str) -> list[str]:
    read = graph.snapshot().scan("Note", ["id"], condition).read_all()
    return sorted(read.column("id").to_pylist())


def indexed(graph: RandomGraph) -> str:
    """The schema of a random graph with an index wherever there may be one."""
    types = r"String|[IUF]\d\d|Bool|Date|DateTime|enum\([^)]*\)|Vector\(2\)"
    return re.sub(rf"(\b\w+: (?:{types})\??)(?=  | }})", r"\1 @index", graph.schema)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_queries_answer_as_the_language_says(data: st.DataObject) -> None:
    random = data.draw(graphs(searchable=True))
    schema = indexed(random)
    assert schema.count("@index") > 0
    catalog = compile_schema(schema)
    plain = plain_graph(catalog, random.records)
    nodes = [record for record in random.records if "type" in record]
    edges = [record for record in random.records if "edge" in record]
    with tempfile.TemporaryDirectory() as folder:
        graph = omnigraph.init(Path(folder) / "graph", schema)
        for part in (nodes[::2], nodes[1::2], edges[::2], edges[1::2]):
            graph.load(ndjson(*part))
        graph.optimize()
        assert graph.verify(rules=True).ok
        for _ in range(6):
            asked = data.draw(queries(random) | rankings(random))
            query = compile_query(asked.source, catalog)
            for mode in MODES:
                check(graph.snapshot(), plain, query, asked.params, mode)


# --------------------------------------------------------------------------- what it does


def many(graph: Graph, count: int, start: int = 0) -> None:
    rows = [{"name": f"n{i:06}", "n": i, "v": [float(i), 1.0]} for i in range(start, start + count)]
    with graph.transaction() as txn:
        txn.insert("Note", rows)


def test_it_builds_what_the_schema_declares_and_refreshes_it() -> None:
    with notes() as graph:
        many(graph, indexes.VECTOR_MINIMUM + 10)
        built = graph.optimize().tables["node:Note"].indexes_built
        assert {"id_btree", "n_btree", "s_inverted", "s_ngram", "v_vector"} <= set(built)
        assert graph.optimize().commit is None
        many(graph, 10, 50_000)
        before = index_segments(graph, "node:Note")
        report = graph.optimize().tables["node:Note"]
        assert set(report.indexes_built) == set(before)
        assert graph.snapshot().scan("Note", filter="n = 50001").read_all().num_rows == 1
        assert graph.verify(rules=True).ok


def test_a_large_table_gets_a_segment_more_instead_of_a_new_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is in large fragments already is neither written nor indexed again."""
    monkeypatch.setattr(optimize, "SMALL_FRAGMENT_ROWS", 100)
    with notes() as graph:
        many(graph, 1000)
        graph.optimize()
        for round_ in range(1, 7):
            many(graph, 100, 1000 * round_)
            report = graph.optimize().tables["node:Note"]
            assert report.rows_rewritten == 0
            segments = index_segments(graph, "node:Note")["n_btree"]
            assert segments <= indexes.MAX_SEGMENTS
            assert segments == round_ + 1 or round_ >= indexes.MAX_SEGMENTS
        assert graph.snapshot().scan("Note", filter="n >= 5000").read_all().num_rows == 200
        assert graph.verify(rules=True).ok


def test_an_index_that_is_no_longer_declared_goes(root: str) -> None:
    graph = omnigraph.init(root, "node P { name: String @key  n: I32? @index }")
    graph.load(ndjson({"type": "P", "data": {"name": "a", "n": 1}}))
    graph.optimize()
    graph.apply_schema("node P { name: String @key  n: I32? }")
    assert "n_btree" in index_segments(graph, "node:P")
    preview = graph.optimize(dry_run=True).tables["node:P"]
    report = graph.optimize().tables["node:P"]
    assert report == preview and report.indexes_dropped == ("n_btree",)
    assert "n_btree" not in index_segments(graph, "node:P")
    graph.collect(keep=1)
    assert_sound(graph)


def test_a_dry_run_changes_nothing_and_foresees_everything(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    for name in ("Cid", "Dan", "Eve"):
        add_person(graph, name)
    with graph.transaction() as txn:
        txn.delete("Person", ["Eve"])
    head, files = graph.commits()[0].id, sorted(Path(root).rglob("*"))
    preview = graph.optimize(dry_run=True)
    assert (preview.dry_run, preview.commit) == (True, None)
    assert (graph.commits()[0].id, sorted(Path(root).rglob("*"))) == (head, files)
    report = graph.optimize()
    assert dict(report.tables) == dict(preview.tables)
    assert report.tables["node:Person"].rows_rewritten == 4
    assert not graph.optimize(dry_run=True).tables


def test_it_commits_once_and_changes_no_entity(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    add_person(graph, "Bob")
    before = contents(graph)
    told: list[tuple[int, int]] = []
    report = graph.optimize(on_progress=lambda done, total: told.append((done, total)))
    assert report.commit is not None and report.commit.version == 4
    assert set(report.commit.changed) == set(report.tables)
    assert contents(graph) == before
    assert told[0] == (0, 4) and all(done <= total for done, total in told)
    assert_sound(graph)


def test_it_gives_way_to_a_writer_that_is_always_faster(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are done; nobody waits and nobody fails."""
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    add_person(graph, "Cid")
    other = omnigraph.open(root)
    improve = optimize._improve
    added: list[str] = []

    def improve_slowly(*given: Any) -> None:  # noqa: ANN401
        improve(*given)
        added.append(f"p{len(added)}")
        add_person(other, added[-1])

    monkeypatch.setattr(optimize, "_improve", improve_slowly)
    report = graph.optimize()
    assert report.gave_way == ("node:Person",)
    assert "edge:Knows" in report.tables and report.commit is not None
    assert people(graph) == ["Ann", "Bob", "Cid", *added]
    assert_sound(graph)


def test_staging_that_lost_its_files_to_a_collection_starts_again(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root, people=["Ann"])
    add_person(graph, "Bob")
    compact = TableStore.compact
    collected: list[CollectReport] = []

    def collected_behind(
        tables: TableStore, version: TableVersion, worn: Sequence[int]
    ) -> TableVersion:
        staged = compact(tables, version, worn)
        if not collected:
            collected.append(omnigraph.open(root).collect())
            graph._store.tables._handles._entries.clear()
        return staged

    monkeypatch.setattr(TableStore, "compact", collected_behind)
    assert graph.optimize().commit is not None
    assert collected[0].files > 0
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)


def test_nothing_staged_before_a_collection_is_published_after_it(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when a first publish was lost to a writer, and the collection ran only then."""
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    add_person(graph, "Cid")
    with graph.transaction() as txn:
        txn.insert("Knows", [edge("Bob", "Cid")])
    publisher = graph._store.publisher
    publish = publisher.publish
    lost: list[CollectReport] = []

    def collected_after_a_loss(plan: PublishPlan, **how: Any) -> Any:  # noqa: ANN401
        if not lost and plan.message == "optimize":
            add_person(omnigraph.open(root), "Dan")
        try:
            return publish(plan, **how)
        except HeadMoved:
            lost.append(omnigraph.open(root).collect())
            raise

    monkeypatch.setattr(publisher, "publish", collected_after_a_loss)
    report = graph.optimize()
    assert len(lost) == 1 and lost[0].files > 0
    assert report.tables.keys() >= {"node:Person", "edge:Knows"}
    assert people(graph) == ["Ann", "Bob", "Cid", "Dan"]
    assert_sound(graph)
