"""Filters of changes by kind, type and operation; each is optional, all must hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omnigraph.errors import InvalidInput, did_you_mean

KINDS = ("node", "edge", "table")
ENTITY_KINDS = ("node", "edge")
OPS = ("insert", "update", "delete")


@dataclass(frozen=True, slots=True)
class Filter:
    """What a caller wants to see; none means everything."""

    kinds: frozenset[str] | None = None
    types: frozenset[str] | None = None
    ops: frozenset[str] | None = None

    def admits(self, kind: str, *names: str) -> bool:
        """Whether a type of a kind, with all the names it goes by, passes."""
        if self.kinds is not None and kind not in self.kinds:
            return False
        return self.types is None or any(names_type(each, kind, *names) for each in self.types)

    def admits_op(self, op: str) -> bool:
        """Whether an operation passes."""
        return self.ops is None or op in self.ops

    def text(self) -> str:
        """The filter as one text; equal filters have equal texts."""
        parts = (self.kinds, self.types, self.ops)
        return json.dumps([None if part is None else sorted(part) for part in parts])


def names_type(given: str, kind: str, *names: str) -> bool:
    """Whether `Name` or `kind:Name` means a type; edges in any case of letters."""
    prefix, colon, rest = given.partition(":")
    if colon and prefix in KINDS:
        if prefix != kind:
            return False
        given = rest
    if kind == "edge":
        return given.lower() in {name.lower() for name in names}
    return given in names


def make_filter(
    kinds: Iterable[str] | None,
    types: Iterable[str] | None,
    ops: Iterable[str] | None,
    *,
    known_kinds: Sequence[str] = KINDS,
) -> Filter:
    """A checked filter."""
    return Filter(
        _known("kind", kinds, known_kinds),
        None if types is None else _names("type", types),
        _known("operation", ops, OPS),
    )


def _known(what: str, given: Iterable[str] | None, known: Sequence[str]) -> frozenset[str] | None:
    if given is None:
        return None
    names = _names(what, given)
    for name in sorted(names):
        if name not in known:
            raise InvalidInput(
                f"unknown {what} {name!r}{did_you_mean(name, known)}",
                hint=f"Choose from {', '.join(known)}.",
            )
    return names


def _names(what: str, given: Iterable[str]) -> frozenset[str]:
    names = frozenset([given] if isinstance(given, str) else given)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidInput(
            f"a filter by {what} needs at least one name", hint="Leave it out to see everything."
        )
    return names
