"""Bulk jobs: rows written by other processes become visible in one commit, or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.bulk import StagedFiles, Target, write_rows
from omnigraph.errors import (
    AlreadyApplied,
    ConstraintViolation,
    InvalidInput,
    KeyConflict,
    LoadError,
    ReadSetConflict,
    TransactionExpired,
)
from omnigraph.storage.maintenance.collect import collect

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "graph", SCHEMA)


def rows(**columns: list[Any]) -> pa.RecordBatchReader:
    return pa.table(columns).to_reader()


def people(graph: Graph) -> list[str]:
    return sorted(graph.snapshot().scan("Person", ["name"]).read_all().column("name").to_pylist())


def test_rows_of_several_tables_and_writers_are_one_commit(graph: Graph) -> None:
    before = graph.snapshot().version
    job = graph.begin_bulk([Target("node:Person"), Target("edge:Knows")])
    files = [
        write_rows(job, "node:Person", rows(name=["ada"], age=[36])),
        write_rows(job, "node:Person", rows(name=["bob"])),
        write_rows(job, "edge:Knows", rows(src=["ada"], dst=["bob"])),
    ]
    assert graph.snapshot().count("Person") == 0
    commit = graph.finish_bulk(job, files, message="both", actor="ada")
    assert commit is not None
    assert (commit.version, commit.message, commit.actor) == (before + 1, "both", "ada")
    assert people(graph) == ["ada", "bob"]
    assert graph.snapshot().count("Knows") == 1
    assert graph.verify(rules=True).ok


def test_files_that_are_not_named_do_not_count(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    write_rows(job, "node:Person", rows(name=["ada"]))
    again = write_rows(job, "node:Person", rows(name=["ada"]))
    graph.finish_bulk(job, [again])
    assert people(graph) == ["ada"]
    assert graph.collect().files > 0
    assert people(graph) == ["ada"]
    assert graph.verify(rules=True).ok


def test_modes_are_those_of_a_load(graph: Graph) -> None:
    graph.load({"Person": pa.table({"name": ["ada", "bob"], "age": [1, 2]})})

    def write(mode: Any, **columns: list[Any]) -> None:  # noqa: ANN401
        job = graph.begin_bulk([Target("node:Person", mode)])
        graph.finish_bulk(job, [write_rows(job, "node:Person", rows(**columns))])

    with pytest.raises(KeyConflict):
        write("append", name=["ada"])
    write("merge", name=["ada", "cy"], age=[9, 3])
    assert graph.snapshot().get("Person", "ada") == {"id": "ada", "age": 9, "name": "ada"}
    assert people(graph) == ["ada", "bob", "cy"]
    write("overwrite", name=["dot"])
    assert people(graph) == ["dot"]
    assert graph.verify(rules=True).ok


def test_an_overwrite_without_rows_empties_the_table(graph: Graph) -> None:
    graph.load({"Person": pa.table({"name": ["ada"]})})
    job = graph.begin_bulk([Target("node:Person", "overwrite")])
    graph.finish_bulk(job, [])
    assert people(graph) == []


def test_bad_values_are_refused_where_they_are_written(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    with pytest.raises(LoadError, match="does not fit"):
        write_rows(job, "node:Person", rows(name=["ada"], age=[2**40]))


def test_constraints_between_files_are_checked_before_anything_is_visible(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person"), Target("edge:Knows")])
    files = [
        write_rows(job, "node:Person", rows(name=["ada"])),
        write_rows(job, "edge:Knows", rows(src=["ada"], dst=["nobody"])),
    ]
    with pytest.raises(ConstraintViolation, match="nobody"):
        graph.finish_bulk(job, files)
    assert people(graph) == []
    with pytest.raises(TransactionExpired):
        graph.finish_bulk(job, files[:1])


def test_the_same_key_in_two_files_is_refused(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person", "merge")])
    files = [write_rows(job, "node:Person", rows(name=["ada"])) for _ in range(2)]
    with pytest.raises(ConstraintViolation):
        graph.finish_bulk(job, files)
    assert people(graph) == []


def test_commits_of_others_meanwhile_are_kept(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    files = write_rows(job, "node:Person", rows(name=["ada"]))
    graph.load({"Person": pa.table({"name": ["bob"]})})
    graph.finish_bulk(job, [files])
    assert people(graph) == ["ada", "bob"]


def test_a_schema_that_changed_meanwhile_is_told(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    files = write_rows(job, "node:Person", rows(name=["ada"]))
    graph.apply_schema(SCHEMA.replace("age: I32?", "age: I32?  city: String?"))
    with pytest.raises(ReadSetConflict):
        graph.finish_bulk(job, [files])
    assert people(graph) == []


def test_a_collection_spares_an_open_job(graph: Graph) -> None:
    graph.load({"Person": pa.table({"name": ["bob"]})})
    job = graph.begin_bulk([Target("node:Person"), Target("table:a.b", columns=SOME_COLUMNS)])
    files = [
        write_rows(job, "node:Person", rows(name=["ada"])),
        write_rows(job, "table:a.b", rows(n=[1, 2])),
    ]
    assert graph.collect().spared_transactions == 1
    graph.finish_bulk(job, files)
    assert people(graph) == ["ada", "bob"]
    assert graph.snapshot().plain_table("a.b").rows == 2
    assert graph.collect().spared_transactions == 0
    assert graph.verify(rules=True).ok


def test_a_job_that_was_taken_for_dead_cannot_publish_deleted_files(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    files = write_rows(job, "node:Person", rows(name=["ada"]))
    assert collect(graph._store, stale_after=timedelta(0)).files > 0
    with pytest.raises(TransactionExpired):
        graph.finish_bulk(job, [files])
    assert people(graph) == []


def test_an_abandoned_job_leaves_garbage_only(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    write_rows(job, "node:Person", rows(name=["ada"]))
    graph.abandon_bulk(job)
    report = graph.collect()
    assert report.spared_transactions == 0
    assert report.files > 0
    assert graph.verify(rules=True).ok


SOME_COLUMNS = pa.schema([pa.field("n", pa.int64()), pa.field("t", pa.string())])


def test_plain_tables_are_made_appended_to_and_replaced(graph: Graph) -> None:
    def write(mode: Any, columns: pa.Schema, **values: list[Any]) -> pa.Table:  # noqa: ANN401
        job = graph.begin_bulk([Target("table:a.b", mode, columns)])
        graph.finish_bulk(job, [write_rows(job, "table:a.b", rows(**values))])
        return graph.snapshot().plain_table("a.b").scan().read_all()

    assert write("append", SOME_COLUMNS, n=[1], t=["x"]).to_pylist() == [{"n": 1, "t": "x"}]
    assert write("append", SOME_COLUMNS, n=[2]).to_pylist() == [
        {"n": 1, "t": "x"},
        {"n": 2, "t": None},
    ]
    other = pa.schema([pa.field("m", pa.float64())])
    assert write("overwrite", other, m=[0.5]).to_pylist() == [{"m": 0.5}]
    with pytest.raises(InvalidInput, match="have no ids"):
        graph.begin_bulk([Target("table:a.b", "merge", other)])
    assert graph.verify(rules=True).ok


def test_a_batch_of_a_stream_lands_once(graph: Graph) -> None:
    def batch(number: int, name: str) -> None:
        job = graph.begin_bulk([Target("node:Person")])
        files = write_rows(job, "node:Person", rows(name=[name]))
        graph.finish_bulk(job, [files], once=("q", number))

    assert graph.last_batch("q") < 0
    batch(0, "ada")
    with pytest.raises(AlreadyApplied):
        batch(0, "eve")
    with pytest.raises(AlreadyApplied):  # and not: Ada is there already
        batch(0, "ada")
    batch(1, "bob")
    with pytest.raises(AlreadyApplied):
        batch(0, "eve")
    assert graph.last_batch("q") == 1
    assert graph.last_batch("other") < 0
    assert people(graph) == ["ada", "bob"]
    assert graph.verify(rules=True).ok


WRITER = """
import json, pickle, sys
import pyarrow as pa
from omnigraph.bulk import write_rows
job = pickle.loads(bytes.fromhex(sys.argv[1]))
names = [f"p{sys.argv[2]}_{n}" for n in range(1000)]
files = write_rows(job, "node:Person", pa.table({"name": names}).to_reader())
print(json.dumps([files.table_key, list(files.fragments), files.rows, files.fresh_ids]))
"""


def test_other_processes_write_with_nothing_but_the_job(graph: Graph) -> None:
    import pickle

    job = graph.begin_bulk([Target("node:Person")])
    packed = pickle.dumps(job).hex()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, packed, str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(2)
    ]
    files = []
    for writer in writers:
        key, fragments, count, fresh = json.loads(writer.communicate(timeout=60)[0])
        files.append(StagedFiles(key, tuple(fragments), count, fresh))
    graph.finish_bulk(job, files)
    assert graph.snapshot().count("Person") == 2000
    assert graph.verify(rules=True).ok
