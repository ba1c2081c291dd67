"""A user runs so much at once; what is more waits, then is refused, and nobody else notices."""

from __future__ import annotations

import threading

import pytest

from omnigraph_flight.admission import Admission, Limits
from omnigraph_flight.statuses import Busy


def test_one_more_than_allowed_is_refused_and_others_are_not() -> None:
    admission = Admission(Limits(statements=3, statements_per_user=2, wait_seconds=0.01))
    with admission.turn("ada"), admission.turn("ada"):
        with pytest.raises(Busy, match="ada already runs 2"), admission.turn("ada"):
            pass
        with admission.turn("bob"):
            assert admission.running == 3
            with pytest.raises(Busy), admission.turn("cy"):
                pass
    assert admission.running == 0
    assert admission.idle(0)


def test_whoever_waits_gets_the_next_place() -> None:
    admission = Admission(Limits(statements=1, statements_per_user=1, wait_seconds=30))
    admission.enter("ada")
    got_in = threading.Event()

    def later() -> None:
        with admission.turn("ada"):
            got_in.set()

    waiting = threading.Thread(target=later)
    waiting.start()
    assert not got_in.wait(0.05)
    assert not admission.idle(0)
    admission.leave("ada")
    assert got_in.wait(30)
    waiting.join()
