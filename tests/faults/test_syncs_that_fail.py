"""A sync that fails: never an acknowledged commit that is not there, never a lost one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

import omnigraph
from omnigraph.errors import CommitUnknown, StorageError, SyncFailed
from support.social import add_person, assert_sound, people, persons, social_graph

MANY = 100
"""More syncs than one commit takes."""


@contextmanager
def failing_sync(number: int) -> Iterator[list[str]]:
    """The n-th sync fails with EIO; gives the paths that were synced so far."""
    real, asked = os.fsync, []

    def fsync(descriptor: int) -> None:
        asked.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        if len(asked) == number:
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    with mock.patch.object(os, "fsync", fsync):
        yield asked


@pytest.mark.parametrize("replacing", [False, True])
def test_at_every_position_of_a_commit(tmp_path: Path, replacing: bool) -> None:
    """Whoever gets an answer can rely on it; what failed before it had a name left nothing."""
    root = str(tmp_path / "graph")
    graph = social_graph(root, people=["Ann", "Bob"])
    expected, doubts = ["Ann", "Bob"], 0
    for number in range(1, MANY):
        name = "Ann" if replacing else f"p{number:02}"
        before = graph.snapshot().commit
        with failing_sync(number) as asked:
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
