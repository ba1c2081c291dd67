"""Which declarations of two branches are one thing.

Identities come from one allocator, so the same addition on two branches has two of them. A merge
makes them one: the target's stays. Later merges of the two branches know it from the pairs that
heads keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    held = set(_identities(target))
    return {i: min(group & held or group) for i, group in groups.items()}


def _identities(catalog: Catalog) -> Iterator[int]:
    for types in (catalog.interfaces, catalog.nodes, catalog.edges):
        for type_ in types.values():
            yield type_.identity
            yield from type_.by_identity


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
    return {
        **_added(base.interfaces, source.interfaces, target.interfaces),
        **_added(base.nodes, source.nodes, target.nodes),
        **_added(base.edges, source.edges, target.edges),
    }


def _added(
    base: Mapping[str, T], source: Mapping[str, T], target: Mapping[str, T]
) -> dict[int, int]:
    known = {type_.identity: type_ for type_ in base.values()}
    theirs = {type_.identity: type_ for type_ in target.values()}
    added = {name: type_ for name, type_ in target.items() if type_.identity not in known}
    found: dict[int, int] = {}
    for name, type_ in source.items():
        old = known.get(type_.identity)
        counterpart = theirs.get(type_.identity) or (added.get(name) if old is None else None)
        if counterpart is None:
            continue
        found[type_.identity] = counterpart.identity
        before = old.by_identity if old else {}
        for prop in type_.properties:
            other = counterpart.by_name.get(prop.name)
            if other and prop.identity not in before and other.identity not in before:
                found[prop.identity] = other.identity
    return {mine: other for mine, other in found.items() if mine != other}
