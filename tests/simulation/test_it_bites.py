"""The simulation notices every fix that is taken back."""

from __future__ import annotations

from itertools import chain

import pytest

from simulation.explore import asked_for, at_random, staged, switched
from simulation.reverted import REVERTED
from simulation.worlds import WORLDS

ENOUGH = 300
"""Runs of each kind after which a fix that was taken back counts as not noticed."""


@pytest.mark.skipif(asked_for() is not None, reason="one run is asked for")
@pytest.mark.parametrize("item", sorted(REVERTED))
def test_a_reverted_fix_is_found(item: str) -> None:
    revert, name = REVERTED[item]
    with revert(), staged(WORLDS[name]) as stage:
        pairs = zip(switched(stage, 1, 0, ENOUGH), switched(stage, 2, 0, ENOUGH), strict=True)
        runs = chain(chain.from_iterable(pairs), at_random(stage, 0, ENOUGH))
        found = next((outcome for outcome in runs if outcome.violations), None)
    assert found is not None, f"{revert.__name__} is not noticed in {name}"
