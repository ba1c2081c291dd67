"""Unification of the identities of declarations that two branches share.

Identities come from one allocator, so the same addition on two branches has two of them. A merge
makes them one: the target's stays. Later merges of the two branches know it from the pairs that
heads record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from omnigraph.schema.model.catalog import Catalog, Property, TypeDeclaration

T = TypeVar("T", bound=TypeDeclaration)

Renumbering = Mapping[int, int]


def representatives(same: Iterable[tuple[int, int]], target: Catalog) -> Renumbering:
    """For each identity of some pairs the one to use: the target's, else the smallest."""
    groups: dict[int, set[int]] = {}
    for one, other in same:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        for identity in joined:
            groups[identity] = joined
    types = list(target.declarations())
    known = {type_.identity for type_ in types} | {i for type_ in types for i in type_.by_identity}
    return {i: min(group & known or group) for i, group in groups.items()}


def renumbered(catalog: Catalog, known: Renumbering) -> Catalog:
    """A catalog with some identities replaced."""
    if not known:
        return catalog

    def each(types: Mapping[str, T]) -> dict[str, T]:
        return {name: _renumbered_type(type_, known) for name, type_ in types.items()}

    return replace(
        catalog,
        interfaces=each(catalog.interfaces),
        nodes=each(catalog.nodes),
        edges=each(catalog.edges),
    )


def _renumbered_type(type_: T, known: Renumbering) -> T:
    def each(prop: Property) -> Property:
        return replace(prop, identity=known.get(prop.identity, prop.identity))

    return replace(
        type_,
        identity=known.get(type_.identity, type_.identity),
        properties=tuple(each(prop) for prop in type_.properties),
    )


def additions_of_both(base: Catalog, source: Catalog, target: Catalog) -> Renumbering:
    """What both sides added under one name: identities of the source to those of the target."""
    known = {type_.identity: type_ for type_ in base.declarations()}
    ours = {type_.identity: type_ for type_ in target.declarations()}
    added = {(t.kind, t.name): t for t in ours.values() if t.identity not in known}
    unified: dict[int, int] = {}
    for type_ in source.declarations():
        old = known.get(type_.identity)
        counterpart = ours.get(type_.identity)
        if counterpart is None and old is None:
            counterpart = added.get((type_.kind, type_.name))
        if counterpart is None:
            continue
        unified[type_.identity] = counterpart.identity
        before = old.by_identity if old else {}
        for prop in type_.properties:
            other = counterpart.by_name.get(prop.name)
            if other and prop.identity not in before and other.identity not in before:
                unified[prop.identity] = other.identity
    return {one: other for one, other in unified.items() if one != other}
