"""Objects that merge as a whole: plain tables, views, stored queries, SQL schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.branching.merge.conflicts import MergeConflictDetail, OnConflict
from omnigraph.storage.core.model import DefinitionHashes, Pointers, TablePointer
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.plain.plain_table import PREFIX

OpaqueSide = tuple[Pointers, DefinitionHashes]


@dataclass(frozen=True, slots=True)
class OpaqueObject:
    """What one side has under a name: the version of a table, and definitions by key and hash.

    The number of a table on its branch does not matter, so equal objects are the same thing.
    """

    version: TableVersion | None = None
    definitions: tuple[tuple[str, str], ...] = ()

    @property
    def absent(self) -> bool:
        return self == OpaqueObject()

    @property
    def kinds(self) -> list[str]:
        kinds = ["table"] if self.version is not None else []
        return kinds + [key.partition(":")[0] for key, _ in self.definitions]


@dataclass(frozen=True)
class OpaqueChanges:
    """What changes on the target."""

    tables: Mapping[str, TablePointer | None]
    definitions: Mapping[str, str | None]
    """Hashes by key; none removes the definition."""
    conflicts: tuple[MergeConflictDetail, ...]


def merge_opaque_objects(
    base: OpaqueSide, source: OpaqueSide, target: OpaqueSide, on_conflict: OnConflict
) -> OpaqueChanges:
    """An object that only the source changed becomes the target's; one that both changed in
    different ways is a conflict, unless it was decided beforehand.

    A SQL schema that one side dropped stays while the other has objects in it.
    """
    sides = [_by_name(*side) for side in (base, source, target)]
    tables: dict[str, TablePointer | None] = {}
    definitions: dict[str, str | None] = {}
    conflicts = []
    for name in sorted({name for side in sides for name in side}):
        old, theirs, ours = (side.get(name, OpaqueObject()) for side in sides)
        if theirs in (old, ours):
            continue
        if ours != old and on_conflict != "theirs":
            if on_conflict == "fail":
                conflicts.append(_conflict(name, old, theirs, ours))
            continue
        new, current = dict(theirs.definitions), dict(ours.definitions)
        for key in new.keys() | current.keys():
            if new.get(key) != current.get(key):
                definitions[key] = new.get(key)
        if theirs.version != ours.version:
            tables[PREFIX + name[1]] = source[0].get(PREFIX + name[1])
    definitions = _with_schemas_in_use(definitions, tables, source, target)
    return OpaqueChanges(tables, definitions, tuple(conflicts))


def _with_schemas_in_use(
    definitions: dict[str, str | None],
    tables: Mapping[str, TablePointer | None],
    source: OpaqueSide,
    target: OpaqueSide,
) -> dict[str, str | None]:
    """The same changes, but SQL schemas that hold an object after it are retained or added."""
    used = {
        f"schema:{key.partition(':')[2].rpartition('.')[0]}"
        for merged in ({**target[0], **tables}, {**target[1], **definitions})
        for key, present in merged.items()
        if present and key.startswith((PREFIX, "view:"))
    }
    retained = {key: text for key, text in definitions.items() if text or key not in used}
    added = {key: source[1][key] for key in used if key in source[1] and key not in target[1]}
    return retained | added


def _by_name(
    pointers: Pointers, definitions: DefinitionHashes
) -> dict[tuple[str, str], OpaqueObject]:
    """Tables and views share their names; a table goes with what was declared about it."""
    objects: dict[tuple[str, str], OpaqueObject] = {}
    for key, text in sorted(definitions.items()):
        kind, _, name = key.partition(":")
        full_name = ("relation" if kind in ("table", "view") else kind, name)
        known = objects.get(full_name, OpaqueObject()).definitions
        objects[full_name] = OpaqueObject(None, (*known, (key, text)))
    for key, pointer in pointers.items():
        if key.startswith(PREFIX):
            full_name = ("relation", key.removeprefix(PREFIX))
            known = objects.get(full_name, OpaqueObject()).definitions
            objects[full_name] = OpaqueObject(pointer.address, known)
    return objects


def _conflict(
    name: tuple[str, str], old: OpaqueObject, theirs: OpaqueObject, ours: OpaqueObject
) -> MergeConflictDetail:
    kind = [*theirs.kinds, *ours.kinds, *old.kinds, name[0]][0]
    if old.absent:
        what = "was created on both sides"
    elif theirs.absent or ours.absent:
        what = "was dropped on one side and changed on the other"
    else:
        what = "was changed on both sides"
    return MergeConflictDetail(kind, name[1], "table_conflict", f"{kind} {name[1]} {what}")
