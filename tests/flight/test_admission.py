"""A user runs so much at once; what is more waits, then is refused, and nobody else notices."""

from __future__ import annotations

import threading

import pytest

from omnigraph_flight.admission import Admission, Limits
from omnigraph_flight.statuses import Busy


def test_one_more_than_allowed_is_refused_and_others_are_not() -> None:
    admission = Admission(Limits(statements=3, statements_per_user=2, wait_seconds=0.01))
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
    admission = Admission(Limits(statements=2, statements_per_user=2, wait_seconds=0.01))
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
    admission = Admission(Limits(statements_per_user=2, wait_seconds=0.01))
    for _ in range(2 * 3):
        admission.enter("ada", "scan", slices=3)
    assert admission.running == 2
    with pytest.raises(Busy):
        admission.enter("ada", "scan", slices=3)
    admission.enter("bob", "scan", slices=3)  # a call of another, whatever its name
    assert admission.running == 3


def test_a_slice_that_waits_goes_in_with_the_first_of_its_call() -> None:
    admission = Admission(Limits(statements=1, wait_seconds=30))
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
    admission = Admission(Limits(statements=1, statements_per_user=1, wait_seconds=30))
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
