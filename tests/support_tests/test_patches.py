"""A patch of a name that nothing reads is refused."""

from __future__ import annotations

import pytest

from omnigraph.storage import buffers


def test_a_constant_that_its_module_reads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "SPILL_BYTES", 1)
    monkeypatch.setattr("omnigraph.storage.buffers.SPILL_BYTES", 2)
    assert buffers.SPILL_BYTES == 2


def test_a_name_that_nothing_reads_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="no effect"):
        monkeypatch.setattr(buffers, "__doc__", "")
