"""Merging done naively, on dictionaries: the oracle that real merges are compared with.

A state knows types and properties by an identity of its own (a text that survives renames), so that
what two branches add under one name is the same thing by construction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Image = dict[str, Any]
"""Values by property identity; edges also have `src` and `dst`."""
Found = tuple[str, str, str | None]
"""A conflict as (kind, type name, id)."""


@dataclass(frozen=True)
class Type:
    """A node or edge type."""

    name: str
    props: Mapping[str, tuple[str, str]]
    """Name and type, by identity."""
    rules: frozenset[tuple[Any, ...]] = frozenset()
    """`("unique", property)` and `("range", property, high)`, by identity."""
    ends: tuple[str, str] | None = None
    """Identities of the node types that an edge type joins."""
    card: int | None = None
    """How many edges may leave a node."""

    def facts(self) -> dict[str, Any]:
        """Everything that can change by itself."""
        return {
            "name": self.name,
            "props": {i: {"name": n, "type": t} for i, (n, t) in self.props.items()},
            "rules": dict.fromkeys(self.rules, True),
            "ends": self.ends,
            "card": self.card,
        }


@dataclass(frozen=True)
class State:
    """A graph at one commit."""

    types: Mapping[str, Type]
    rows: Mapping[str, Mapping[str, Image]] = field(default_factory=dict)

    def of(self, identity: str) -> Mapping[str, Image]:
        return self.rows.get(identity, {})

    def with_rows(self, identity: str, rows: Mapping[str, Image]) -> State:
        return replace(self, rows={**self.rows, identity: rows})

    def with_type(self, identity: str, type_: Type | None) -> State:
        types = {i: t for i, t in self.types.items() if i != identity}
        rows = {i: r for i, r in self.rows.items() if i != identity or type_ is not None}
        return State(types | ({identity: type_} if type_ else {}), rows)

    def key(self, identity: str) -> str:
        type_ = self.types[identity]
        return f"{'edge' if type_.ends else 'node'}:{type_.name}"

    def contents(self) -> dict[str, list[Image]]:
        """What a real graph in this state shows."""
        return {
            self.key(identity): [
                {"id": key, **_named(type_, image)}
                for key, image in sorted(self.of(identity).items())
            ]
            for identity, type_ in self.types.items()
        }


def _named(type_: Type, image: Image) -> Image:
    ends = {end: image[end] for end in ("src", "dst") if end in image}
    return ends | {name: image.get(i) for i, (name, _) in type_.props.items()}


def merge_states(
    base: State, source: State, target: State, side: str = "fail"
) -> tuple[State | None, list[Found]]:
    """The merged state, or every conflict."""
    conflicts: list[Found] = []
    facts = [{i: t.facts() for i, t in s.types.items()} for s in (base, source, target)]
    merged: dict[str, Any] = {}
    for identity in facts[0] | facts[1] | facts[2]:
        old, theirs, ours = (side_.get(identity) for side_ in facts)
        clash: list[bool] = []
        result = _three_way(old, theirs, ours, clash)
        name = next(each["name"] for each in (ours, theirs, old) if each)
        if clash:
            conflicts.append(("schema_conflict", name, None))
        elif result is not None:
            merged[identity] = result
        elif old and (theirs or ours):
            kept = source if theirs else target
            if dict(kept.of(identity)) != dict(base.of(identity)):
                conflicts.append(("schema_conflict", name, None))
    types = {i: _type(body) for i, body in merged.items()}
    if not conflicts:
        for identity, type_ in types.items():
            if any(_dropped_but_changed(identity, type_, base, s) for s in (source, target)):
                conflicts.append(("schema_conflict", type_.name, None))
    for type_ in types.values() if not conflicts else ():
        lost = [rule for rule in type_.rules if rule[1] not in type_.props]
        if lost or any(end not in types for end in type_.ends or ()):
            conflicts.append(("schema_conflict", type_.name, None))
    rows: dict[str, dict[str, Image]] = {}
    for identity, type_ in types.items():
        rows[identity], found = _merge_rows(identity, type_, (base, source, target), side)
        conflicts += found
    result_state = State(types, rows)
    if not conflicts:
        conflicts = broken_rules(result_state)
    return (None, sorted(conflicts, key=str)) if conflicts else (result_state, [])


def _dropped_but_changed(identity: str, merged: Type, base: State, kept: State) -> bool:
    """Whether a side gave entities new values of a property that the merge drops."""
    if identity not in base.types or identity not in kept.types:
        return False
    dropped = base.types[identity].props.keys() & kept.types[identity].props - merged.props.keys()
    rows = [
        (base.of(identity)[key], row)
        for key, row in kept.of(identity).items()
        if key in base.of(identity)
    ]
    return any(old.get(prop) != new.get(prop) for prop in dropped for old, new in rows)


def _three_way(old: Any, theirs: Any, ours: Any, clash: list[bool]) -> Any:  # noqa: ANN401
    if theirs == old:
        return ours
    if ours == old or theirs == ours:
        return theirs
    if isinstance(old, dict) and isinstance(theirs, dict) and isinstance(ours, dict):
        both = {k: _three_way(old.get(k), theirs.get(k), ours.get(k), clash) for k in theirs | ours}
        return {k: v for k, v in both.items() if v is not None}
    clash.append(True)
    return ours


def _type(body: dict[str, Any]) -> Type:
    return Type(
        body["name"],
        {i: (p["name"], p["type"]) for i, p in body.get("props", {}).items()},
        frozenset(body.get("rules", {})),
        body.get("ends"),
        body.get("card"),
    )


def _merge_rows(
    identity: str, type_: Type, states: tuple[State, State, State], side: str
) -> tuple[dict[str, Image], list[Found]]:
    def lifted(state: State) -> dict[str, Image]:
        known = state.types[identity].props if identity in state.types else {}
        return {
            key: {
                name: image.get(name, _default(type_, name) if name not in known else None)
                for name in (*type_.props, *(("src", "dst") if type_.ends else ()))
            }
            for key, image in state.of(identity).items()
        }

    old, theirs, ours = map(lifted, states)
    result: dict[str, Image] = {}
    conflicts: list[Found] = []
    for key in old | theirs | ours:
        b, x, y = old.get(key), theirs.get(key), ours.get(key)
        chosen = y
        if x != b and x != y:
            chosen = x
            if y != b:
                chosen = x if side == "theirs" else y
                kind = "divergent_update" if b else "divergent_insert"
                if x is None or y is None:
                    kind = "delete_vs_update"
                if side == "fail":
                    conflicts.append((kind, type_.name, key))
        if chosen is not None:
            result[key] = chosen
    return result, conflicts


def _default(type_: Type, prop: str) -> Any:  # noqa: ANN401
    """`String @default("x")` gives x to entities that were there before."""
    _, declared = type_.props.get(prop, ("", ""))
    return declared.split('"')[1] if "@default" in declared else None


def broken_rules(state: State) -> list[Found]:
    """What a state breaks, looking at all of it."""
    found: set[Found] = set()
    for identity, type_ in state.types.items():
        rows = state.of(identity)
        for rule in type_.rules:
            values = Counter(v for r in rows.values() if (v := r.get(rule[1])) is not None)
            if rule[0] == "unique" and any(count > 1 for count in values.values()):
                found.add(("unique_violation", type_.name, None))
            if rule[0] == "range" and any(value > rule[2] for value in values):
                found.add(("value_constraint_violation", type_.name, None))
        if type_.ends is None:
            continue
        for key, row in rows.items():
            ends = zip((row["src"], row["dst"]), type_.ends, strict=True)
            if any(node not in state.of(kind) for node, kind in ends):
                found.add(("orphan_edge", type_.name, key))
        counts = Counter(row["src"] for row in rows.values())
        if type_.card is not None and any(count > type_.card for count in counts.values()):
            found.add(("cardinality_violation", type_.name, None))
    return sorted(found, key=str)
