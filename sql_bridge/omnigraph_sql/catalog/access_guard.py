"""What a statement touches, told to whoever guards a session before it is read or written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Action = Literal["read", "write", "define", "branch"]
"""`define` makes, changes or drops a table, view, type or schema; `branch` does so to a branch."""


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """Something about to be done to a table, or to a branch as a whole."""

    action: Action
    branch: str
    schema: str | None = None
    name: str | None = None


Guard: TypeAlias = Callable[[AccessRequest], None]
"""Raises to refuse."""


def allow(touch: AccessRequest) -> None:  # noqa: ARG001
    """The guard of a session that may do everything."""
