"""A store that lost or mangled something: a typed error that says so, and nothing made worse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import AlreadyExists, Corruption, FormatTooNew, NotFound, StorageError
from omnigraph.storage.core.layout import fnv1a64
from omnigraph.storage.manifest.format_version import KEY_ANNOTATION, STAMP
from support.graphs import BOATS, boats, contents, edge, ids, ndjson, node

Rows = list[dict[str, Any]]
DOT = ndjson(node("Boat", name="Dot"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A local graph of boats, whose files a test may damage."""
    boats(str(tmp_path / "graph"))
    return tmp_path / "graph"


def folder(place: Path, kind: str, name: str) -> Path:
    return place / f"{kind}s" / f"{fnv1a64(name):016x}"


def rewrite_manifest(
    place: Path,
    change: Callable[[Rows], Rows] = lambda rows: rows,
    *,
    stamp: str | None = "3",
    key: bool = True,
) -> None:
    """Replace the manifest's rows, as some other program might; its history of versions stays."""
    uri = str(place / "__manifest")
    dataset = lance.dataset(uri)
    fields = [
        pa.field(f.name, f.type, f.nullable, f.metadata if key else None) for f in dataset.schema
    ]
    metadata = {} if stamp is None else {STAMP: stamp}
    schema = pa.schema(fields, metadata)
    table = pa.Table.from_pylist(change(dataset.to_table().to_pylist()), schema=schema)
    lance.write_dataset(table, uri, mode="overwrite")


def manifest_version(place: Path) -> int:
    return int(lance.dataset(str(place / "__manifest")).version)


def with_metadata(object_id: str, text: str | None) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        assert any(row["object_id"] == object_id for row in rows)
        return [row | {"metadata": text} if row["object_id"] == object_id else row for row in rows]

    return change


# --------------------------------------------------------------------------- rows of the manifest


@pytest.mark.parametrize("text", ['{"commit":', "[]", "{}", "", None, "null", '{"commit": 3}'])
def test_a_head_that_cannot_be_read_is_corruption(place: Path, text: str | None) -> None:
    rewrite_manifest(place, with_metadata("head:main", text))
    version = manifest_version(place)
    graph = omnigraph.open(place)
    for action in (
        lambda: graph.snapshot(),
        lambda: graph.branches(),
        lambda: graph.commits(),
        lambda: graph.load(DOT),
        lambda: graph.transaction(),
        lambda: graph.create_branch("x"),
        lambda: graph.delete_branch("x"),
        lambda: graph.optimize(),
        lambda: graph.collect(),
        lambda: graph.apply_schema(BOATS + "node N {}"),
    ):
        with pytest.raises((Corruption, NotFound)) as caught:
            action()
        assert caught.value.hint
    report = graph.verify()
    assert [finding.where for finding in report.findings] == ["head:main"]
    assert manifest_version(place) == version


def test_a_broken_head_does_not_keep_other_branches_from_being_read(place: Path) -> None:
    omnigraph.open(place).create_branch("wip")
    rewrite_manifest(place, with_metadata("head:main", "{"))
    graph = omnigraph.open(place)
    assert ids(graph, "Boat", "wip") == ["Ada", "Bly", "Cap"]


def test_a_commit_or_schema_that_cannot_be_read_is_corruption(place: Path) -> None:
    graph = omnigraph.open(place)
    head, schema = graph.commits()[0].id, graph.commits()[0].schema
    rewrite_manifest(place, with_metadata(f"commit:{head}", "{"))
    graph = omnigraph.open(place)
    for action in (graph.commits, lambda: graph.commit(head), lambda: graph.snapshot("main@v1")):
        with pytest.raises(Corruption):
            action()
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    assert not graph.verify().ok
    rewrite_manifest(place, with_metadata(f"schema:{schema}", '{"source": 1}'))
    with pytest.raises(Corruption):
        omnigraph.open(place).snapshot()


@pytest.mark.parametrize("text", ['{"commit":', "[]", "{}", "", None, '{"commit": 3}'])
def test_a_tag_that_cannot_be_read_is_corruption_and_stops_collections(
    place: Path, text: str | None
) -> None:
    """What it keeps is not known, so nothing may be deleted."""
    omnigraph.open(place).tags.create("v1")
    rewrite_manifest(place, with_metadata("tag:v1", text))
    graph = omnigraph.open(place)
    for action in (
        lambda: graph.snapshot("v1"),
        lambda: graph.tags["v1"],
        lambda: graph.tags.list(),
        lambda: graph.collect(keep=1),
        lambda: graph.collect(dry_run=True),
    ):
        with pytest.raises(Corruption):
            action()
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    assert "tag:v1" in [finding.where for finding in graph.verify().findings]
    graph.tags.delete("v1")
    assert graph.verify().ok


def test_verify_looks_at_what_tags_keep(place: Path) -> None:
    graph = omnigraph.open(place)
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    made = graph.tags.create("v1", at="wip")
    graph.delete_branch("wip")
    graph.collect(keep=1)
    before = graph.verify()
    assert before.ok
    pointer = graph.commit(made.commit).tables["node:Boat"]
    (place / pointer.location / "_versions" / f"d{pointer.lance}.manifest").unlink()
    (finding,) = omnigraph.open(place).verify().findings
    assert made.commit in finding.where
    rewrite_manifest(
        place, lambda rows: [r for r in rows if r["object_id"] != f"commit:{made.commit}"]
    )
    graph = omnigraph.open(place)
    assert [f.where for f in graph.verify().findings] == ["tag:v1"]
    with pytest.raises(Corruption):
        graph.snapshot("v1")


# --------------------------------------------------------------------------- files


def damaged(place: Path, *actions: Callable[[omnigraph.Graph], object]) -> None:
    """Every action fails with a storage error; the heads stay, and verify finds the damage."""
    before = manifest_version(place)
    for action in actions:
        with pytest.raises(StorageError) as caught:
            action(omnigraph.open(place))
        assert caught.value.message
    assert manifest_version(place) == before
    report = omnigraph.open(place).verify()
    assert not report.ok
    assert any("Boat" in f.where or "nodes/" in f.problem for f in report.findings)


READS = (
    lambda g: g.snapshot().scan("Boat").read_all(),
    lambda g: g.snapshot().scan("Boat", filter="crew = 2").read_all(),
    lambda g: g.snapshot().get("Boat", "Ada"),
    lambda g: g.transaction().scan("Boat").read_all(),
)
WRITES = (
    lambda g: g.load(DOT),
    lambda g: g.load(ndjson(edge("Meets", "Ada", "Bly"))),
    lambda g: g.apply_schema(BOATS.replace("crew: I32?", "crew: I64?")),
    lambda g: g.optimize(),
)


def test_a_missing_data_file_is_corruption(place: Path) -> None:
    for file in (folder(place, "node", "Boat") / "data").iterdir():
        file.unlink()
    damaged(place, *READS, *WRITES)
    with pytest.raises(Corruption) as caught:
        READS[0](omnigraph.open(place))
    assert caught.value.hint
    assert ids(omnigraph.open(place), "Meets") == ["m1"]


def test_a_missing_version_file_is_corruption(place: Path) -> None:
    for file in (folder(place, "node", "Boat") / "_versions").glob("d*"):
        file.unlink()
    damaged(place, *READS, *WRITES)
    with pytest.raises(Corruption) as caught:
        READS[0](omnigraph.open(place))
    assert caught.value.hint
    with pytest.raises(Corruption):
        omnigraph.open(place).collect()
    assert ids(omnigraph.open(place), "Meets") == ["m1"]


def test_a_mangled_data_file_is_a_storage_error(place: Path) -> None:
    for file in (folder(place, "node", "Boat") / "data").iterdir():
        file.write_bytes(b"garbage" * 7)
    damaged(place, *READS, *WRITES)


def test_a_mangled_version_file_is_a_storage_error(place: Path) -> None:
    for file in (folder(place, "node", "Boat") / "_versions").glob("d*"):
        file.write_bytes(b"garbage" * 7)
    damaged(place, *READS, *WRITES)


@pytest.mark.parametrize("part", ["data", "_versions"])
def test_a_graph_whose_manifest_is_mangled_is_not_taken_for_a_free_place(
    place: Path, part: str
) -> None:
    files = {path: path.read_bytes() for path in (place / "__manifest" / part).iterdir()}
    for path in files:
        path.write_bytes(b"x" * 40)
    with pytest.raises(StorageError):
        omnigraph.open(place)
    with pytest.raises((StorageError, AlreadyExists)):
        omnigraph.init(place, BOATS)
    for path, data in files.items():
        path.write_bytes(data)
    assert omnigraph.open(place).verify().ok


# --------------------------------------------------------------------------- formats


def test_a_format_from_the_future_is_refused_also_by_who_has_it_open(place: Path) -> None:
    reader = omnigraph.open(place)
    writer = omnigraph.open(place)
    writer.load(DOT)
    rewrite_manifest(place, stamp="99")
    version = manifest_version(place)
    for action in (
        lambda: omnigraph.open(place),
        lambda: reader.snapshot(),
        lambda: writer.load(b""),
        lambda: writer.create_branch("x"),
        lambda: writer.collect(),
    ):
        with pytest.raises(FormatTooNew, match="99") as caught:
            action()
        assert caught.value.hint == "Upgrade omnigraph first."
    assert manifest_version(place) == version


@pytest.mark.parametrize("stamp", ["abc", "", "0", "-1"])
def test_a_stamp_that_is_none_is_corruption(place: Path, stamp: str) -> None:
    rewrite_manifest(place, stamp=stamp)
    with pytest.raises(Corruption):
        omnigraph.open(place)


def test_format_1_is_read_as_it_is_and_walked_forward_by_the_first_write(place: Path) -> None:
    before = omnigraph.open(place)
    before.create_branch("wip")
    known, commits = contents(before), len(before.commits())
    rewrite_manifest(place, stamp=None, key=False)
    version = manifest_version(place)
    reader = omnigraph.open(place)
    assert contents(reader) == contents(reader, "wip") == known
    assert manifest_version(place) == version

    writer = omnigraph.open(place)
    writer.load(DOT, branch="wip")
    schema = lance.dataset(str(place / "__manifest")).schema
    assert schema.metadata[STAMP.encode()] == b"3"
    assert schema.field("object_id").metadata[KEY_ANNOTATION.encode()] == b"true"
    for graph in (reader, writer, omnigraph.open(place)):
        assert contents(graph) == known
        assert ids(graph, "Boat", "wip") == ["Ada", "Bly", "Cap", "Dot"]
        assert len(graph.commits()) == commits
        report = graph.verify()
        assert (report.ok, report.commits) == (True, commits + 1)


def as_format_2(place: Path, *, source: str | None = BOATS) -> None:
    """Only tables and their versions, as format 2 had them, with the schema in a file."""
    kinds = ("table", "table_version", "table_tombstone")
    rewrite_manifest(place, lambda rows: [r for r in rows if r["object_type"] in kinds], stamp="2")
    if source is not None:
        (place / "_schema.pg").write_text(source)


def test_format_2_is_walked_forward_by_the_first_write(place: Path) -> None:
    graph = omnigraph.open(place)
    graph.load(DOT)
    known = contents(graph)
    as_format_2(place)
    writer = omnigraph.open(place)
    commit = writer.load(b"").commit
    assert contents(writer, f"main@{commit.parent}") == contents(writer) == known
    for reader in (writer, omnigraph.open(place)):
        assert [b.name for b in reader.branches()] == ["main"]
        assert [c.version for c in reader.commits()] == [2, 1]
        assert reader.verify().ok
    writer.collect(keep=1)
    assert contents(omnigraph.open(place)) == known


def test_format_2_says_what_to_do_before_it_was_walked_forward(place: Path) -> None:
    as_format_2(place)
    version = manifest_version(place)
    reader = omnigraph.open(place)
    for action in (reader.snapshot, reader.commits):
        with pytest.raises(StorageError, match="format 2") as caught:
            action()
        assert caught.value.hint
    assert manifest_version(place) == version
    reader.load(b"")
    assert ids(reader, "Boat") == ["Ada", "Bly", "Cap"]


def test_format_2_without_its_schema_is_left_alone(place: Path) -> None:
    as_format_2(place, source=None)
    version = manifest_version(place)
    graph = omnigraph.open(place)
    for _ in range(2):
        with pytest.raises(StorageError, match="schema") as caught:
            graph.load(DOT)
        assert "_schema.pg" in (caught.value.hint or "")
    assert manifest_version(place) == version
    (place / "_schema.pg").write_text(BOATS)
    graph.load(DOT)
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]


def test_a_step_forward_that_stopped_halfway_is_finished(place: Path) -> None:
    graph = omnigraph.open(place)
    known = contents(graph)
    as_format_2(place)
    omnigraph.open(place).load(b"")
    # The rows of format 3 are there, the stamp is not.
    rewrite_manifest(place, stamp="2")
    writer = omnigraph.open(place)
    writer.load(b"")
    assert contents(writer) == known
    assert writer.verify().ok
    assert [c.version for c in writer.commits()] == [3, 2, 1]
    rows = lance.dataset(str(place / "__manifest")).to_table().to_pylist()
    assert len({row["object_id"] for row in rows}) == len(rows)
    assert sum(row["object_type"] == "graph_commit" for row in rows) == 3


def test_a_compiled_schema_from_the_future_is_refused(place: Path) -> None:
    def newer(rows: Rows) -> Rows:
        for row in rows:
            if row["object_type"] == "schema":
                body = json.loads(row["metadata"])
                body["compiled"]["format"] = 99
                row["metadata"] = json.dumps(body)
        return rows

    rewrite_manifest(place, newer)
    with pytest.raises(FormatTooNew):
        omnigraph.open(place).snapshot()
