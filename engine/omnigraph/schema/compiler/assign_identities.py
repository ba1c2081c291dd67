"""Which declaration is which: a desired schema matched against the accepted one.

The rules are docs/design/schema-language.md#9-evolution.

A draft catalog has no identities yet. Each declaration gets the one of its accepted counterpart,
found by name or by `@rename_from`, or a fresh one from the graph's allocator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from omnigraph.errors import did_you_mean
from omnigraph.schema.model.catalog import Catalog, Property, TypeDeclaration
from omnigraph.schema.model.constraints import Index, Key, Unique
from omnigraph.schema.syntax.diagnostics import IdentityProblem
from omnigraph.schema.syntax.tree import LiteralNode

T = TypeVar("T", bound=TypeDeclaration)
TupleT = TypeVar("TupleT", Key, Unique, Index)

TypeId = tuple[str, str]  # kind, name
PropertyId = tuple[str, str, str]  # kind, owner, name


@dataclass(frozen=True)
class Hints:
    """Every `@rename_from` with its place. Those on properties that an interface brings are
    `weak`: they apply where they fit and are inert where they do not, because the author wrote
    them for the interface and not for every node."""

    types: Mapping[TypeId, LiteralNode]
    properties: Mapping[PropertyId, LiteralNode]
    weak: frozenset[PropertyId]


def assign_identities(
    draft: Catalog, hints: Hints, accepted: Catalog | None, first: int
) -> Catalog:
    """The draft with every identity filled in and constraint members in identity order."""
    known = accepted or Catalog()
    matcher = _Matcher(hints, accepted, max(first, known.next_identity))
    # New identities are dealt in this order, so equal texts get equal identities.
    interfaces = matcher.match(draft.interfaces, known.interfaces)
    nodes = matcher.match(draft.nodes, known.nodes)
    edges = matcher.match(draft.edges, known.edges)
    return Catalog(nodes, edges, interfaces, matcher.next_identity)


@dataclass
class _Matcher:
    """One run of the matching; its only state is the next free identity."""

    hints: Hints
    accepted: Catalog | None
    next_identity: int

    def match(self, desired: Mapping[str, T], known: Mapping[str, T]) -> dict[str, T]:
        claimed: dict[int, str] = {}
        result: dict[str, T] = {}
        for name in sorted(desired):
            counterpart = self._type_counterpart(desired[name], known)
            if counterpart is not None:
                self._claim(claimed, counterpart.identity, desired[name], counterpart.name)
            result[name] = self._numbered(desired[name], counterpart)
        return result

    def _fresh(self) -> int:
        self.next_identity += 1
        return self.next_identity - 1

    def _numbered(self, type_: T, counterpart: T | None) -> T:
        identity = counterpart.identity if counterpart else self._fresh()
        claimed: dict[int, str] = {}
        properties = []
        for prop in type_.properties:  # sorted by name: the order in which keys are frozen
            old = self._property_counterpart(type_, prop, counterpart)
            if old is not None:
                self._claim_property(claimed, old, type_, prop)
            properties.append(replace(prop, identity=old.identity if old else self._fresh()))
        return in_identity_order(replace(type_, identity=identity, properties=tuple(properties)))

    # ------------------------------------------------------------------ types

    def _type_counterpart(self, type_: T, known: Mapping[str, T]) -> T | None:
        if type_.name in known or self.accepted is None:
            return known.get(type_.name)
        hint = self.hints.types.get((type_.kind, type_.name))
        if hint is None:
            return None
        if hint.value in known:
            return known[str(hint.value)]
        raise IdentityProblem(self._no_such_type(type_, str(hint.value), known), hint.span)

    def _no_such_type(self, type_: TypeDeclaration, old: str, known: Mapping[str, T]) -> str:
        assert self.accepted is not None
        for kind, others in self.accepted.by_kind.items():
            if old in others:
                return f"{type_.kind} {type_.name} cannot be renamed from {kind} {old!r}"
        return f"the graph has no {type_.kind} type {old!r}{did_you_mean(old, tuple(known))}"

    def _claim(self, claimed: dict[int, str], identity: int, type_: T, old: str) -> None:
        first = claimed.setdefault(identity, type_.name)
        if first == type_.name:
            return
        hint = self.hints.types.get((type_.kind, type_.name)) or self.hints.types[type_.kind, first]
        raise IdentityProblem(
            f"{type_.kind} types {first} and {type_.name} both continue {old!r}", hint.span
        )

    # ------------------------------------------------------------------ properties

    def _property_counterpart(self, type_: T, prop: Property, owner: T | None) -> Property | None:
        if self.accepted is None:
            return None
        key = (type_.kind, type_.name, prop.name)
        hint, weak = self.hints.properties.get(key), key in self.hints.weak
        if owner is None:
            if hint is not None and not weak:
                raise IdentityProblem(
                    f"{type_.name} is new, so its property {prop.name} was not renamed from "
                    f"{hint.value!r}",
                    hint.span,
                )
            return None
        if prop.name in owner.by_name or hint is None:
            return owner.by_name.get(prop.name)
        if weak and hint.value in type_.by_name:
            return None
        if hint.value in owner.by_name or weak:
            return owner.by_name.get(str(hint.value))
        raise IdentityProblem(self._no_such_property(owner, str(hint.value)), hint.span)

    def _no_such_property(self, owner: TypeDeclaration, old: str) -> str:
        assert self.accepted is not None
        for other in self.accepted.declarations():
            if old in other.by_name:
                return f"property {old!r} belongs to {other.kind} {other.name}, not to {owner.name}"
        close = did_you_mean(old, tuple(owner.by_name))
        return f"{owner.kind} {owner.name} has no property {old!r} in the graph{close}"

    def _claim_property(
        self, claimed: dict[int, str], old: Property, type_: TypeDeclaration, prop: Property
    ) -> None:
        first = claimed.setdefault(old.identity, prop.name)
        if first == prop.name:
            return
        hints = self.hints.properties
        keys = ((type_.kind, type_.name, prop.name), (type_.kind, type_.name, first))
        hint = next(hints[key] for key in keys if key in hints)
        raise IdentityProblem(
            f"{type_.name}.{first} and {type_.name}.{prop.name} both continue {old.name!r}",
            hint.span,
        )


def in_identity_order(type_: T) -> T:
    """The type with constraint members in identity order, and the index that its key implies."""
    identities = {prop.name: prop.identity for prop in type_.properties}

    def rank(member: str) -> tuple[bool, int]:
        # `src` and `dst` have no identity; they come first, in that order.
        return (member in identities, identities.get(member, {"src": 0, "dst": 1}.get(member, 0)))

    def ordered(constraint: TupleT) -> TupleT:
        return replace(constraint, members=tuple(sorted(constraint.members, key=rank)))

    def distinct(constraints: tuple[TupleT, ...]) -> tuple[TupleT, ...]:
        return tuple(sorted({ordered(c) for c in constraints}, key=lambda c: sorted(c.members)))

    key = None if type_.key is None else ordered(type_.key)
    implied = () if key is None else (Index(key.members),)
    return replace(
        type_,
        key=key,
        uniques=distinct(type_.uniques),
        indexes=distinct((*type_.indexes, *implied)),
    )
