"""A sync that fails: never an acknowledged commit that is not there, never a lost one."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.bulk import Target, write_rows
from omnigraph.errors import CommitUnknown, OmniGraphError, StorageError, SyncFailed
from support.social import add_person, assert_sound, names, people, persons, social_graph
from support.waiting import wait_until

MANY = 100
"""More syncs than one commit takes."""


@contextmanager
def failing_sync(number: int, code: int = errno.EIO) -> Iterator[list[str]]:
    """The n-th sync fails; gives the paths that were synced so far."""
    real, asked = os.fsync, []

    def fsync(descriptor: int) -> None:
        asked.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        if len(asked) == number:
            raise OSError(code, os.strerror(code))
        real(descriptor)

    with mock.patch.object(os, "fsync", fsync):
        yield asked


@pytest.mark.parametrize(
    ("replacing", "code"), [(False, errno.EIO), (True, errno.EIO), (False, errno.ENOSPC)]
)
def test_at_every_position_of_a_commit(tmp_path: Path, replacing: bool, code: int) -> None:
    """Whoever gets an answer can rely on it; what failed before it had a name left nothing."""
    root = str(tmp_path / "graph")
    graph = social_graph(root, people=["Ann", "Bob"])
    expected, doubts = ["Ann", "Bob"], 0
    for number in range(1, MANY):
        name = "Ann" if replacing else f"p{number:02}"
        before = graph.snapshot().commit
        with failing_sync(number, code) as asked:
            try:
                with graph.transaction() as txn:
                    txn.upsert("Person", persons([name], age=number))
            except CommitUnknown as doubt:
                doubts += 1
                assert "sync" in str(doubt) and asked[number - 1].endswith("_versions")
            except SyncFailed as failure:
                assert failure.code == "sync_failed"
                assert omnigraph.open(root).snapshot().commit == before
                continue
        expected = sorted({*expected, name})
        seen = omnigraph.open(root)
        assert people(seen) == expected
        if len(asked) < number:
            break
    else:
        pytest.fail("a commit syncs without end")
    assert number > 8, "a commit syncs data, a table version, a manifest version, and folders"
    assert doubts == 1, "one sync comes after the name: that of the folder of versions"
    assert_sound(omnigraph.open(root))


def test_at_every_position_of_an_init(tmp_path: Path) -> None:
    """There is no graph, and `init` can be run again; or there is a whole one."""
    for number in range(1, MANY):
        root = tmp_path / f"graph{number}"
        with failing_sync(number) as asked:
            try:
                graph = social_graph(str(root))
            except StorageError:
                try:
                    graph = omnigraph.open(root)
                except omnigraph.errors.NotFound:
                    graph = social_graph(str(root))
        add_person(graph, "Ann")
        assert people(omnigraph.open(root)) == ["Ann"]
        if len(asked) < number:
            return
    pytest.fail("an init syncs without end")


TYPE_OF = {"p": "Person", "c": "Club"}


def publish_together(
    graph: Graph, members: Sequence[str], failing: int = MANY
) -> tuple[dict[str, Exception | None], list[str]]:
    """One batch of transactions: what each was told, and what was synced once all were staged."""
    told: dict[str, Exception | None] = {}

    def write(name: str) -> None:
        try:
            with graph.transaction() as txn:
                txn.insert(TYPE_OF[name[0]], [{"name": name}])
            told[name] = None
        except OmniGraphError as error:
            told[name] = error

    publisher = graph._store.publisher
    writers = [threading.Thread(target=write, args=(name,)) for name in members]
    with ExitStack() as stack:
        with publisher.exclusive():
            for writer in writers:
                writer.start()
            wait_until(lambda: len(publisher._queue) == len(members))
            asked = stack.enter_context(failing_sync(failing))
        for writer in writers:
            writer.join()
    return told, asked


def test_all_members_of_a_batch_get_the_same_answer(tmp_path: Path) -> None:
    """Before the name nobody is there, after it everybody may be; a later commit works."""
    root = str(tmp_path / "graph")
    graph = social_graph(root)
    expected: set[str] = set()
    kinds = set()
    for number in range(1, MANY):
        members = [f"p{number}", f"c{number}"]
        told, asked = publish_together(graph, members, number)
        [kind] = {type(error) for error in told.values()}
        kinds.add(kind)
        seen = omnigraph.open(root)
        if kind is not SyncFailed:
            expected |= set(members)
        assert {*people(seen), *names(seen, "Club")} == expected
        for opened in (graph, seen):
            name = f"p after {number} {opened is graph}"
            add_person(opened, name)
            expected.add(name)
        if len(asked) < number:
            break
    assert kinds == {SyncFailed, CommitUnknown, type(None)}
    assert_sound(omnigraph.open(root))


def test_a_name_that_cannot_be_given_is_a_failure_and_no_doubt(tmp_path: Path) -> None:
    """A full disk may refuse the link: nobody can see the version, and nothing is unknown."""
    graph = social_graph(str(tmp_path / "graph"), people=["Ann"])
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch.object(os, "link", side_effect=full), pytest.raises(StorageError) as caught:
        add_person(graph, "Bob")
    assert not isinstance(caught.value, CommitUnknown)
    assert people(graph) == ["Ann"]
    add_person(graph, "Bob")
    assert people(omnigraph.open(tmp_path / "graph")) == ["Ann", "Bob"]


def test_files_of_other_processes_are_synced_by_who_publishes_them(tmp_path: Path) -> None:
    """Whatever those trust."""
    root = tmp_path / "graph"
    careless = omnigraph.open(social_graph(str(root)).uri, durability="os")
    job = careless.begin_bulk([Target("node:Person")])
    rows = pa.table({"name": ["Ann"], "age": [1]})
    with failing_sync(MANY) as asked:
        files = write_rows(job, "node:Person", rows.to_reader())
        assert not asked
        omnigraph.open(root, durability="sync").finish_bulk(job, [files])
    data = {str(path) for path in root.glob("nodes/*/data/*.lance")}
    assert data and data <= set(asked)


def test_processes_of_a_job_trust_what_the_graph_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(str(tmp_path / "graph"))
    job = graph.begin_bulk([Target("node:Person")])
    monkeypatch.setenv("OMNIGRAPH_DURABILITY", "os")
    with failing_sync(1), pytest.raises(SyncFailed):
        write_rows(job, "node:Person", pa.table({"name": ["Ann"], "age": [1]}).to_reader())


def test_commits_of_a_batch_share_syncs(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "graph"))
    with failing_sync(MANY) as alone:
        add_person(graph, "alone")
    told, together = publish_together(graph, ["p0", "c0"])
    assert set(told.values()) == {None}
    assert len(together) <= len([path for path in alone if "__manifest" in path]) + 1


def test_a_failed_sync_of_a_table_is_not_tried_again_on_the_same_files(tmp_path: Path) -> None:
    """The system may have dropped the bytes and call the next sync a success."""
    graph = social_graph(str(tmp_path / "graph"), people=["Ann"])
    with failing_sync(1) as first, pytest.raises(SyncFailed):
        add_person(graph, "Bob")
    with failing_sync(MANY) as second:
        add_person(graph, "Bob")
    files = {path for path in first if path.endswith((".lance", ".manifest"))}
    assert files and not files & set(second)


def test_nothing_is_synced_when_the_system_is_trusted(tmp_path: Path) -> None:
    with failing_sync(1) as asked:
        graph = omnigraph.init(
            tmp_path / "graph", "node P { name: String @key }\n", durability="os"
        )
        with graph.transaction() as txn:
            txn.insert("P", [{"name": "Ann"}])
    assert not asked


def test_the_environment_says_what_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_DURABILITY", "os")
    root = tmp_path / "graph"
    with failing_sync(MANY) as asked:
        social_graph(str(root))
        assert not asked
        graph = omnigraph.open(root, durability="sync")
        add_person(graph, "Ann")
        assert asked
    monkeypatch.setenv("OMNIGRAPH_DURABILITY", "never")
    with pytest.raises(omnigraph.errors.InvalidInput, match="durability 'never'"):
        omnigraph.open(root)
