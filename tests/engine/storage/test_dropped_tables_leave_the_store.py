"""A table that no retained moment has leaves nothing behind: no file, no folder, no row."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.bulk import Target, write_rows
from omnigraph.errors import ReadSetConflict, Reclaimed, TransactionExpired

SCHEMA = "node P { name: String @key }"
PAGES = pa.schema([("text", pa.string())])


def write_pages(graph: Graph, *texts: str) -> None:
    with graph.transaction() as txn:
        txn.create_table("notes.pages", PAGES)
        txn.append("notes.pages", [{"text": text} for text in texts])


def drop_pages(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.drop_table("notes.pages")


def texts(graph: Graph, at: str = "main", name: str = "notes.pages") -> list[str]:
    found: list[str] = graph.snapshot(at).plain_table(name).scan().read_all()["text"].to_pylist()
    return found


def folders(root: str) -> list[Path]:
    return [path for kind in ("nodes", "edges", "tables") for path in Path(root, kind).glob("*")]


def rows_of_tables(graph: Graph) -> set[str]:
    return {row["table_key"] for row in graph._store.publisher.refresh().rows("table")}


def test_a_dropped_plain_table_is_collected_whole(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    before = folders(root)
    write_pages(graph, "one")
    drop_pages(graph)
    foreseen = graph.collect(keep=1, dry_run=True)
    report = graph.collect(keep=1)
    assert foreseen.tables["table:notes.pages"] == report.tables["table:notes.pages"]
    assert folders(root) == before
    assert rows_of_tables(graph) == {"node:P"}
    assert graph.verify(deep=True).ok


def test_a_dropped_type_is_collected_whole(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA + " node Q { name: String @key }")
    with graph.transaction() as txn:
        txn.insert("Q", [{"name": "q"}])
    graph.apply_schema(SCHEMA, allow_data_loss=True)
    graph.collect(keep=1)
    assert [path.parent.name for path in folders(root)] == ["nodes"]
    assert rows_of_tables(graph) == {"node:P"}
    graph.apply_schema(SCHEMA + " node Q { name: String @key }")
    with graph.transaction() as txn:
        txn.insert("Q", [{"name": "new"}])
    assert graph.snapshot().count("Q") == 1
    assert graph.verify(deep=True).ok


def test_a_table_that_an_older_moment_a_tag_or_a_branch_has_stays(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    write_pages(graph, "one")
    graph.create_branch("side")
    graph.tags.create("v1", "main")
    with_pages = graph.commits()[0].id
    drop_pages(graph)
    graph.collect()
    assert texts(graph, f"main@{with_pages}") == ["one"]
    graph.collect(keep=1)
    assert texts(graph, "side") == ["one"]
    graph.delete_branch("side")
    graph.collect(keep=1)
    assert texts(graph, "v1") == ["one"]
    graph.tags.delete("v1")
    graph.collect(keep=1)
    assert len(folders(root)) == 1


def test_a_name_that_is_used_again_is_another_table(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    write_pages(graph, "old")
    drop_pages(graph)
    write_pages(graph, "new")
    graph.collect(keep=1)
    assert texts(graph) == ["new"]
    assert len(folders(root)) == 2
    drop_pages(graph)
    graph.collect(keep=1)
    assert len(folders(root)) == 1
    assert graph.verify(deep=True).ok


def test_a_table_made_beside_a_collection_is_not_in_its_way(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    write_pages(graph, "old")
    drop_pages(graph)
    other = omnigraph.open(root)
    delete = graph._store.raw.delete

    def made_before(paths: object) -> None:
        if not other.tables():
            write_pages(other, "new")
        delete(paths)  # type: ignore[arg-type]

    graph._store.raw.delete = made_before  # type: ignore[method-assign]
    graph.collect(keep=1)
    assert texts(graph) == ["new"]
    assert graph.verify(deep=True).ok


def test_a_clone_of_a_moment_that_was_given_up_meanwhile_is_refused(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    write_pages(graph, "one")
    old = graph.snapshot(graph.commits()[0].id).plain_table("notes.pages")
    drop_pages(graph)
    with graph.transaction() as txn:
        txn.plain.clone(old, "notes.copy")  # it is there still
    with graph.transaction() as txn:
        txn.drop_table("notes.copy")
    graph.collect(keep=1)
    with pytest.raises(TransactionExpired), graph.transaction() as txn:
        txn.plain.clone(old, "notes.copy")
    assert graph.tables() == []
    assert graph.verify().ok


def test_a_clone_beside_a_collection_is_whole_or_refused(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    write_pages(graph, "one")
    old = graph.snapshot(graph.commits()[0].id).plain_table("notes.pages")
    drop_pages(graph)
    with pytest.raises(TransactionExpired), graph.transaction() as txn:
        txn.plain.clone(old, "notes.copy")
        omnigraph.open(root).collect(keep=1)
    assert graph.tables() == []
    with pytest.raises(Reclaimed):
        graph.snapshot("main@v2").plain_table("notes.pages")


def test_a_table_whose_folder_a_collection_took_before_its_commit_is_no_damage(root: str) -> None:
    graph, other = omnigraph.init(root, SCHEMA), omnigraph.open(root)
    with pytest.raises(TransactionExpired), graph.transaction() as txn:
        txn.create_table("notes.pages", PAGES)
        other.collect()
        txn.append("notes.pages", [{"text": "one"}])
        txn.plain.table("notes.pages")
    assert graph.tables() == []
    write_pages(graph, "two")
    assert texts(graph) == ["two"]


def test_rows_for_a_table_that_was_made_anew_meanwhile_are_refused(root: str) -> None:
    graph, other = omnigraph.init(root, SCHEMA), omnigraph.open(root)
    write_pages(graph, "one")
    with pytest.raises(ReadSetConflict), graph.transaction() as txn:
        txn.append("notes.pages", [{"text": "for the first"}])
        drop_pages(other)
        write_pages(other, "two")
    job = graph.begin_bulk([Target("table:notes.pages")])
    rows = pa.table({"text": ["for the second"]}).to_batches()
    files = [write_rows(job, "table:notes.pages", rows)]
    drop_pages(other)
    write_pages(other, "three")
    with pytest.raises(ReadSetConflict):
        graph.finish_bulk(job, files)
    assert texts(graph) == ["three"]
