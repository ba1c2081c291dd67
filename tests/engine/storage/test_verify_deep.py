"""`verify --deep` reads every byte: a changed file is found and named, whatever it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.storage.core import file_digests
from support.fixtures import unique_uri, use_environment
from support.object_stores import ObjectStore

SCHEMA = """
node Person {
    name: String @key
    age: I32? @index
    bio: String? @index
    picture: Blob?
}
edge Knows: Person -> Person
"""
NUMBERS = pa.schema([("n", pa.int64())])


def person(number: int, picture: bytes | None = None) -> dict[str, object]:
    bio = f"likes boats {number}"
    return {"name": f"p{number}", "age": number, "bio": bio, "picture": picture}


def many_kinds_of_files(uri: str) -> Graph:
    """A graph with Blobs, indexes, deleted rows, a plain table, a branch and a few commits."""
    graph = omnigraph.init(uri, SCHEMA)
    with graph.transaction() as txn:
        txn.upsert("Person", [person(number) for number in range(600)])
        txn.upsert("Knows", [{"src": f"p{n}", "dst": f"p{n + 1}"} for n in range(500)])
    with graph.transaction() as txn:
        txn.upsert("Person", [person(7, os.urandom(200_000)), person(700)])
    graph.optimize()
    with graph.transaction() as txn:
        txn.delete("Person", [f"p{number}" for number in range(590, 600)])
    with graph.transaction() as txn:
        txn.delete("Person", [f"p{number}" for number in range(510, 589)])
        txn.upsert("Person", [person(9)])
        txn.create_table("main.numbers", NUMBERS)
        txn.append("main.numbers", pa.table({"n": range(1000)}, schema=NUMBERS))
    graph.create_branch("draft")
    with graph.transaction("draft") as txn:
        txn.upsert("Person", [person(11)])
    return graph


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep") / "graph"
    many_kinds_of_files(str(folder))
    return folder


def test_a_whole_graph_is_well_and_almost_everything_has_a_digest(place: Path) -> None:
    report = omnigraph.open(str(place)).verify(deep=True)
    assert report.ok
    assert report.files is not None
    assert report.files.files > 20
    assert report.files.to_json()["checked"] == report.files.files


def test_without_deep_no_file_is_read(place: Path) -> None:
    report = omnigraph.open(str(place)).verify()
    assert report.ok
    assert report.files is None
    assert "files" not in report.to_json()


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 0x10
    path.write_bytes(contents)


@pytest.mark.parametrize(
    "pattern",
    [
        "nodes/*/data/*.lance",
        "nodes/*/data/*/*.blob",
        "nodes/*/_deletions/*",
        "nodes/*/_indices/*/*.lance",
        "nodes/*/_versions/d*.manifest",
        "nodes/*/_versions/1*.manifest",
        "nodes/*/_transactions/*.txn",
        "__manifest/data/x3*.lance",
        "__manifest/_deletions/*",
    ],
)
def test_a_changed_byte_is_found_in_every_kind_of_file(place: Path, pattern: str) -> None:
    needed = omnigraph.open(str(place))
    assert needed.verify(deep=True).ok
    found = 0
    for path in sorted(place.glob(pattern)):
        before = path.read_bytes()
        flip(path)
        report = needed.verify(deep=True)
        path.write_bytes(before)
        found += any(path.name in finding.where for finding in report.findings) or (
            path.parent.name in str(report.findings)
        )
    assert found


def test_a_name_holds_its_digest_and_is_never_given_twice() -> None:
    """The collector may be about to delete an older file of the same contents."""
    digest = file_digests.data_digest([b"rows"])
    stems = {file_digests.data_stem(digest) for _ in range(10)}
    assert {file_digests.digest_in_stem(stem) for stem in stems} == {digest}
    assert len(stems) == 10

    numbers = {file_digests.deletion_numbers(b"marks") for _ in range(10)}
    expected = file_digests.deletion_digest(b"marks")
    assert {file_digests.digest_in_deletion(*pair) for pair in numbers} == {expected}
    assert len(numbers) == 10

    segment = file_digests.segment_digest([("page.lance", [b"index"])])
    uuids = {str(file_digests.segment_uuid(segment)) for _ in range(10)}
    assert {file_digests.digest_in_uuid(uuid) for uuid in uuids} == {segment}
    assert len(uuids) == 10


def test_names_that_lance_gave_hold_no_digest() -> None:
    assert file_digests.digest_in_stem("00110010110100100101001088f0044003882653c00c385a4f") is None
    assert file_digests.digest_in_deletion(12, 13002626115520320869) is None
    assert file_digests.digest_in_deletion(13178936645639214385, 3266192387774347557) is None
    assert file_digests.digest_in_uuid("08a67a28-f359-4d06-bc99-419a9d80cf65") is None


@pytest.mark.parametrize("left", [b"", bytes(100), None], ids=["nothing", "zeros", "half"])
def test_a_transaction_that_a_power_cut_took_is_no_damage(place: Path, left: bytes | None) -> None:
    """It is not synced, because the version file has a copy and nothing else needs it."""
    for path in place.glob("*/*/_transactions/*.txn"):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if left is None else left)
    graph = omnigraph.open(str(place))
    assert graph.verify(deep=True).ok


def test_files_of_the_manifest_that_no_version_refers_to_do_not_count(place: Path) -> None:
    """A publish that a power cut ended left them, in a manifest of few versions, too."""
    manifest = place / "__manifest"
    (manifest / "_deletions").mkdir(exist_ok=True)
    (manifest / "_deletions" / "1-8661267609976296346-4060289558411939839.arrow").touch()
    (manifest / "data" / f"x3{'0' * 48}.lance").touch()
    assert omnigraph.open(str(place)).verify(deep=True).ok


@pytest.mark.s3
def test_on_an_object_store_every_byte_is_read_and_what_has_no_digest_is_said(
    moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lance names the files there: they are decoded, which finds what does not parse."""
    use_environment(monkeypatch, moto_store)
    graph = many_kinds_of_files(unique_uri())
    report = graph.verify(deep=True)
    assert report.ok
    assert report.files is not None
    stored = [f for top in ("nodes", "edges", "tables") for f in graph._store.raw.list(top)]
    assert report.files.unchecked > len([f for f in stored if "/data/" in f.path])
    assert report.files.bytes > sum(f.size for f in stored if "/data/" in f.path)

    for file in stored:
        if "/data/" in file.path and file.path.endswith(".lance"):
            before = graph._store.raw.read(file.path)
            assert before is not None
            graph._store.raw.upload(file.path, [before[: len(before) // 2], b"\0" * 64])
            found = omnigraph.open(graph.uri).verify(deep=True).findings
            graph._store.raw.upload(file.path, [before])
            assert any(file.path in f.where + f.problem for f in found)
    assert graph.verify(deep=True).ok
