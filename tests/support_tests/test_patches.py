"""A patch of a name that nothing reads is refused."""

from __future__ import annotations

import pytest

from omnigraph.storage.tables import write_buffer


def test_a_constant_that_its_module_reads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    monkeypatch.setattr("omnigraph.storage.tables.write_buffer.SPILL_BYTES", 2)
    assert write_buffer.SPILL_BYTES == 2


def test_a_name_that_nothing_reads_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="no effect"):
        monkeypatch.setattr(write_buffer, "__doc__", "")
