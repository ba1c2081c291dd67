"""Things that merge as a whole: plain tables, views, stored queries, SQL schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from omnigraph.branching.merge.conflicts import MergeConflictDetail, OnConflict, of_whole
from omnigraph.storage.core.model import DefinitionHashes, Pointers, TablePointer

PLAIN = "table:"
"""Tables with keys like this belong to no type."""


@dataclass(frozen=True, slots=True)
class OpaqueObject:
    """What one side has under a name: a table, a view, or a text."""

    pointer: TablePointer | None = None
    texts: tuple[tuple[str, str], ...] = ()
    """Keys and hashes of definitions."""

    def same(self, other: OpaqueObject) -> bool:
        """Whether both are the same thing; a table's number on its branch does not matter."""
        return self.texts == other.texts and _address(self.pointer) == _address(other.pointer)

    @property
    def absent(self) -> bool:
        return self.pointer is None and not self.texts


@dataclass(frozen=True)
class WholeChanges:
    """What the target takes over."""

    tables: Mapping[str, TablePointer | None]
    definitions: Mapping[str, str | None]
    """Hashes by key; none removes the definition."""
    conflicts: tuple[MergeConflictDetail, ...]


OpaqueSide = tuple[Pointers, DefinitionHashes]


def merge_wholes(
    base: OpaqueSide, source: OpaqueSide, target: OpaqueSide, on_conflict: OnConflict
) -> WholeChanges:
    """Changed on one side, taken; changed alike on both, one; else a conflict, unless decided.

    A SQL schema that one side dropped stays while something of the other is in it.
    """
    sides = [_by_name(*side) for side in (base, source, target)]
    tables: dict[str, TablePointer | None] = {}
    definitions: dict[str, str | None] = {}
    conflicts = []
    for name in sorted({name for side in sides for name in side}):
        old, theirs, ours = (side.get(name, OpaqueObject()) for side in sides)
        if theirs.same(old) or theirs.same(ours):
            continue
        if not ours.same(old) and on_conflict != "theirs":
            if on_conflict == "fail":
                conflicts.append(_conflict(name, old, theirs, ours))
            continue
        for key in {key for key, _ in (*theirs.texts, *ours.texts)}:
            wanted = dict(theirs.texts).get(key)
            if wanted != dict(ours.texts).get(key):
                definitions[key] = wanted
        if _address(theirs.pointer) != _address(ours.pointer):
            tables[PLAIN + name[1]] = theirs.pointer
    definitions = _schemas_in_use(definitions, tables, source, target)
    return WholeChanges(tables, definitions, tuple(conflicts))


def _schemas_in_use(
    definitions: dict[str, str | None],
    tables: Mapping[str, TablePointer | None],
    source: OpaqueSide,
    target: OpaqueSide,
) -> dict[str, str | None]:
    """The same changes, but for SQL schemas that one side dropped and the other has things in."""
    after = dict(target[1]) | definitions
    holding = {key for key, text in after.items() if text}
    holding |= {key for key, pointer in (dict(target[0]) | dict(tables)).items() if pointer}
    used = {
        f"schema:{key.partition(':')[2].rpartition('.')[0]}"
        for key in holding
        if key.startswith((PLAIN, "view:"))
    }
    kept = {key: text for key, text in definitions.items() if text or key not in used}
    back = {key: source[1][key] for key in used if key in source[1] and key not in target[1]}
    return kept | back


def _by_name(
    pointers: Pointers, definitions: DefinitionHashes
) -> dict[tuple[str, str], OpaqueObject]:
    """Tables and views share their names; a table goes with what was declared about it."""
    found: dict[tuple[str, str], OpaqueObject] = {}
    for key, text in sorted(definitions.items()):
        kind, _, name = key.partition(":")
        place = ("relation" if kind in ("table", "view") else kind, name)
        known = found.get(place, OpaqueObject())
        found[place] = OpaqueObject(None, (*known.texts, (key, text)))
    for key, pointer in pointers.items():
        if key.startswith(PLAIN):
            place = ("relation", key.removeprefix(PLAIN))
            found[place] = OpaqueObject(pointer, found.get(place, OpaqueObject()).texts)
    return found


def _address(pointer: TablePointer | None) -> tuple[str, int] | None:
    return (pointer.location, pointer.lance) if pointer else None


def _conflict(
    name: tuple[str, str], old: OpaqueObject, theirs: OpaqueObject, ours: OpaqueObject
) -> MergeConflictDetail:
    kind = next(_kinds(name, theirs, ours, old))
    if old.absent:
        what = "was created on both sides"
    elif theirs.absent or ours.absent:
        what = "was dropped on one side and changed on the other"
    else:
        what = "was changed on both sides"
    return of_whole(kind, name[1], f"{kind} {name[1]} {what}")


def _kinds(name: tuple[str, str], *sides: OpaqueObject) -> Iterator[str]:
    """What to call it: as those who have it do."""
    for side in sides:
        if side.pointer is not None:
            yield "table"
        for key, _ in side.texts:
            yield key.partition(":")[0]
    yield name[0]
