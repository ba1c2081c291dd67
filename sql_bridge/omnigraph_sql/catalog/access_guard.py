"""Access requests: the guard of a session sees each before anything is read or written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Action = Literal["read", "write", "define", "branch"]
"""`define` creates, alters or drops a table, view, type or schema; `branch` a branch."""


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """What is about to be done to a table, or to a branch as a whole."""

    action: Action
    branch: str
    schema: str | None = None
    name: str | None = None


Guard: TypeAlias = Callable[[AccessRequest], None]
"""Raises to refuse."""


def allow(request: AccessRequest) -> None:  # noqa: ARG001
    """The guard of a session that may do everything."""
