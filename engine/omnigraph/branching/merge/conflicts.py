"""The conflicts of a merge, gathered in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from omnigraph.errors import ConstraintViolation, LoadError
from omnigraph.schema.evolution.merge_schemas import SchemaConflict
from omnigraph.schema.model.catalog import GraphType

SHOWN = 1000
"""Conflicts that a report lists; all of them are counted."""

OnConflict = Literal["fail", "ours", "theirs"]
EntityConflict = Literal["divergent_insert", "divergent_update", "delete_vs_update"]

_MESSAGES: Mapping[EntityConflict, str] = {
    "divergent_insert": "was inserted on both sides with different values",
    "divergent_update": "was changed differently on both sides",
    "delete_vs_update": "was deleted on one side and changed on the other",
}
_INTEGRITY = {
    "endpoint": "orphan_edge",
    "unique": "unique_violation",
    "card": "cardinality_violation",
}


@dataclass(frozen=True, slots=True)
class MergeConflictDetail:
    """An object on which source and target disagree, or a rule that they break together."""

    entity_kind: str
    """`node`, `edge`, `schema`, or the kind of an opaque object: `table`, `view`, `query`."""
    type_name: str
    kind: str
    message: str
    entity_id: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        named = {name: getattr(self, name) for name in self.__slots__ if name != "facts"}
        return named | dict(self.facts)


class Conflicts:
    """All conflicts of one merge: counted, and the first of them listed."""

    def __init__(self) -> None:
        self.shown: list[MergeConflictDetail] = []
        self.counts: Counter[str] = Counter()
        self._seen: set[tuple[str, str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, conflict: MergeConflictDetail) -> None:
        """Note one; an edge that lost both of its ends is one orphan."""
        if conflict.entity_id is not None and len(self._seen) <= SHOWN:
            key = (conflict.kind, conflict.type_name, conflict.entity_id)
            if key in self._seen:
                return
            self._seen.add(key)
        self.counts[conflict.kind] += 1
        if len(self.shown) < SHOWN:
            self.shown.append(conflict)

    def add_entities(self, type_: GraphType, kind: EntityConflict, ids: pa.StringArray) -> None:
        """Note entities that conflict, however many."""
        if not len(ids):
            return
        self.counts[kind] += len(ids)
        for entity_id in ids.slice(0, SHOWN - len(self.shown)).to_pylist():
            message = f"{type_.kind} {type_.name} {entity_id!r} {_MESSAGES[kind]}"
            self.shown.append(MergeConflictDetail(type_.kind, type_.name, kind, message, entity_id))

    def to_json(self) -> list[dict[str, Any]]:
        return [conflict.to_json() for conflict in self.shown]


def declaration_conflict(conflict: SchemaConflict) -> MergeConflictDetail:
    """A declaration on which the schemas disagree."""
    name = conflict.entity.partition(":")[2].partition(".")[0] or conflict.entity
    return MergeConflictDetail(
        "schema", name, "schema_conflict", conflict.message, facts=conflict.to_json()
    )


def constraint_conflict(
    type_: GraphType, problem: ConstraintViolation | LoadError
) -> MergeConflictDetail:
    """A rule that the merged graph would break."""
    if isinstance(problem, ConstraintViolation):
        kind, facts = problem.kind, problem.facts
    else:
        kind, facts = "value", {}
    return MergeConflictDetail(
        "edge" if kind in ("endpoint", "card") else type_.kind,
        str(facts.get("type", type_.name)),
        _INTEGRITY.get(kind, "value_constraint_violation"),
        problem.message,
        facts.get({"endpoint": "edge_id", "unique": "id"}.get(kind, "")),
    )


def next_step(counts: Mapping[str, int], source: str, target: str) -> str:
    """What a person can do about conflicts of these kinds."""
    if set(counts) <= {*_MESSAGES, "table_conflict"}:
        return (
            "Change one of the branches and merge again, or resolve all conflicts with "
            f"on_conflict='ours' (keep {target}) or 'theirs' (use {source})."
        )
    if "schema_conflict" in counts:
        return f"Make the schemas of {source} and {target} agree, then merge again."
    return f"Fix the data on {source} (merging {target} into it first helps), then merge again."
