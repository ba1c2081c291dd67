"""A process that is suspended in the queue of its machine costs the others next to nothing."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from omnigraph.storage.commit import machine_lock
from omnigraph.storage.commit.machine_lock import MachineLock
from support.social import add_person, assert_sound, people, social_graph
from support.worker_processes import Gate, one_worker

PER_COMMIT = 1.0


def test_commits_of_others_take_no_second_each(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root)
    asked = {"root": root, "insert": {"Person": ["suspended"]}}
    took, names = [], ["Ann", "Bob", "Cid", "Dot"]
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as suspended:
        suspended.go()
        gate.wait_held()
        suspended.pause()  # with the lock
        gate.open()
        for name in names:
            began = time.monotonic()
            add_person(graph, name)
            took.append(time.monotonic() - began)
        suspended.resume()
        suspended.finish()
        assert suspended.said("end")[0]["code"] is None
    assert max(took) < PER_COMMIT, took
    assert people(graph) == [*names, "suspended"]
    assert_sound(graph)


@pytest.fixture
def lock_file(tmp_path: Path) -> Path:
    path = tmp_path / "__publish.lock"
    path.touch()
    return path


def seconds_to_enter(lock: MachineLock) -> float:
    began = time.monotonic()
    with lock:
        return time.monotonic() - began


def test_nobody_waits_twice_behind_one_who_does_not_let_go(lock_file: Path) -> None:
    lock = MachineLock(str(lock_file.parent))
    holder = os.open(lock_file, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        first, second = seconds_to_enter(lock), seconds_to_enter(lock)
    finally:
        os.close(holder)
    assert machine_lock.STALLED_SECONDS <= first < 2 * machine_lock.STALLED_SECONDS
    assert second < machine_lock.STALLED_SECONDS / 2
    with lock:
        assert not is_free(lock_file), "it queues again once the lock was let go"


def is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_queue_that_moves_is_waited_for(lock_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holder is slow, and there are so many that all of them take longer than one may."""
    monkeypatch.setattr(machine_lock, "STALLED_SECONDS", 0.4)
    monkeypatch.setattr(machine_lock, "QUEUE_SECONDS", 30.0)
    inside, overlaps, waited = 0, 0, list[float]()
    count = threading.Lock()

    def hold() -> None:
        nonlocal inside, overlaps
        began = time.monotonic()
        with MachineLock(str(lock_file.parent)):
            waited.append(time.monotonic() - began)
            with count:
                inside += 1
                overlaps += inside > 1
            time.sleep(0.1)
            with count:
                inside -= 1

    holders = [threading.Thread(target=hold) for _ in range(8)]
    for each in holders:
        each.start()
    for each in holders:
        each.join()
    assert not overlaps, "somebody gave up waiting"
    assert max(waited) > machine_lock.STALLED_SECONDS


def test_one_that_goes_on_is_waited_for(lock_file: Path) -> None:
    """Work that is staged again in the queue may take longer than a suspended process may."""
    holder, waiter = MachineLock(str(lock_file.parent)), MachineLock(str(lock_file.parent))
    inside, let_go = threading.Event(), list[float]()

    def work() -> None:
        with holder.pulsing():
            inside.set()
            time.sleep(3 * machine_lock.STALLED_SECONDS)
            let_go.append(time.monotonic())

    working = threading.Thread(target=work)
    working.start()
    inside.wait()
    with waiter:
        entered = time.monotonic()
    working.join()
    assert entered >= let_go[0]
