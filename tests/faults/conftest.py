"""Worker processes are shared by the tests of this folder and end with the session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.worker_processes import close_workers


@pytest.fixture(scope="session", autouse=True)
def _workers_end_with_the_session() -> Iterator[None]:
    yield
    close_workers()
