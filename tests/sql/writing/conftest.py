"""A session on a graph of its own."""

from __future__ import annotations

import pytest

from sql.writing.session import Session


@pytest.fixture
def session(root: str) -> Session:
    return Session(root)
