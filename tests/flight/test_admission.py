"""A user runs so much at once; what is more waits, then is refused, and nobody else notices."""

from __future__ import annotations

import threading
import time

import pytest

from omnigraph_flight.access.admission import Admission, ServerLimits
from omnigraph_flight.protocol.flight_status import Busy


def test_one_more_than_allowed_is_refused_and_others_are_not() -> None:
    admission = Admission(ServerLimits(statements=3, statements_per_user=2, wait_seconds=0.01))
    with admission.turn("ada", "1"), admission.turn("ada", "2"):
        with pytest.raises(Busy, match="ada already runs 2"), admission.turn("ada", "3"):
            pass
        with admission.turn("bob", "4"):
            assert admission.running == 3
            with pytest.raises(Busy), admission.turn("cy", "5"):
                pass
    assert admission.running == 0
    assert admission.idle(0)


def test_the_slices_of_a_call_share_one_place() -> None:
    admission = Admission(ServerLimits(statements=2, statements_per_user=2, wait_seconds=0.01))
    for _ in range(8):
        admission.enter("ada", "scan", slices=8)
    assert admission.running == 1
    with admission.turn("ada", "other"), pytest.raises(Busy):
        admission.enter("ada", "third")
    for _ in range(7):
        admission.leave("ada", "scan", slices=8)
        assert admission.running == 1
    admission.leave("ada", "scan", slices=8)
    assert admission.idle(0)


def test_who_reads_slices_more_than_once_needs_more_places() -> None:
    admission = Admission(ServerLimits(statements_per_user=2, wait_seconds=0.01))
    for _ in range(2 * 3):
        admission.enter("ada", "scan", slices=3)
    assert admission.running == 2
    with pytest.raises(Busy):
        admission.enter("ada", "scan", slices=3)
    admission.enter("bob", "scan", slices=3)  # a call of another, whatever its name
    assert admission.running == 3


def test_what_could_hold_too_many_threads_waits_however_few_statements_run() -> None:
    limits = ServerLimits(streams_per_user=16, streams=20, wait_seconds=0.01)
    admission = Admission(limits)
    admission.enter("ada", "first", slices=8)
    admission.enter("ada", "second", slices=8)
    with pytest.raises(Busy, match="16 streams"):
        admission.enter("ada", "third", slices=2)
    for _ in range(7):  # what is in gets all its slices: it may be read in their order
        admission.enter("ada", "first", slices=8)
    with pytest.raises(Busy):
        admission.enter("bob", "fourth", slices=8)  # of all users
    admission.enter("bob", "fifth", slices=4)
    admission.leave("ada", "second", slices=8)
    admission.enter("ada", "third", slices=2)


def test_one_statement_may_have_more_slices_than_streams_are_allowed() -> None:
    admission = Admission(ServerLimits(streams_per_user=4, streams=4, wait_seconds=0.01))
    admission.enter("ada", "wide", slices=64)
    with pytest.raises(Busy):
        admission.enter("ada", "narrow")


def test_so_many_wait_and_the_next_is_refused_at_once() -> None:
    admission = Admission(ServerLimits(statements_per_user=1, waiting_per_user=2, wait_seconds=30))
    admission.enter("ada", "running")

    def later(call: str) -> None:
        with admission.turn("ada", call):
            pass

    waiting = [threading.Thread(target=later, args=(call,)) for call in "ab"]
    for thread in waiting:
        thread.start()
    while admission.waiting < 2:
        time.sleep(0.01)
    with pytest.raises(Busy, match="2 wait"):
        admission.enter("ada", "c")
    admission.enter("bob", "d")
    admission.leave("ada", "running")
    for thread in waiting:
        thread.join(30)
    assert (admission.waiting, admission.running) == (0, 1)


def test_a_slice_that_waits_goes_in_with_the_first_of_its_call() -> None:
    admission = Admission(ServerLimits(statements=1, wait_seconds=30))
    admission.enter("ada", "first")
    both = threading.Barrier(3)

    def later() -> None:
        admission.enter("ada", "scan", slices=2)
        both.wait(30)
        admission.leave("ada", "scan", slices=2)

    waiting = [threading.Thread(target=later) for _ in range(2)]
    for thread in waiting:
        thread.start()
    admission.leave("ada", "first")
    both.wait(30)
    for thread in waiting:
        thread.join()
    assert admission.idle(0)


def test_whoever_waits_gets_the_next_place() -> None:
    admission = Admission(ServerLimits(statements=1, statements_per_user=1, wait_seconds=30))
    admission.enter("ada", "1")
    got_in = threading.Event()

    def later() -> None:
        with admission.turn("ada", "2"):
            got_in.set()

    waiting = threading.Thread(target=later)
    waiting.start()
    assert not got_in.wait(0.05)
    assert not admission.idle(0)
    admission.leave("ada", "1")
    assert got_in.wait(30)
    waiting.join()
