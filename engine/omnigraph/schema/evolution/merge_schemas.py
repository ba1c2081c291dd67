"""Three-way merge of schemas by stable identity (branching.md §7).

A catalog is written down as a tree in which declarations are found by identity and everything that
can be added alone is a branch of its own: properties, constraints, enum values, annotations. Two
trees with a common base merge by one rule at every branching; where the rule has no answer, the
declaration conflicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.errors import InvalidInput
from omnigraph.schema.compiler.compile_schema import compile_schema
from omnigraph.schema.evolution.catalog_tree import Dangling, catalog_of, tree_of
from omnigraph.schema.evolution.unify_identities import (
    additions_of_both,
    renumbered,
    representatives,
)
from omnigraph.schema.model.catalog import Catalog, Kind, TypeDeclaration
from omnigraph.schema.model.fingerprint import fingerprint
from omnigraph.schema.model.render_pg import declaration, property_declaration, to_source

KINDS: tuple[Kind, ...] = ("interface", "node", "edge")


@dataclass(frozen=True)
class SchemaVersion:
    """A schema as one side has it: the accepted text and what it compiled to."""

    source: str
    catalog: Catalog


@dataclass(frozen=True)
class SchemaConflict:
    """A declaration that the two sides want to be different things."""

    entity: str
    """`node:Boat`, or `node:Boat.crew` for a property."""
    message: str
    base: str | None = None
    """What each side declares; none where it declares nothing."""
    source: str | None = None
    target: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "entity": self.entity,
            "base": self.base,
            "source": self.source,
            "target": self.target,
        }


@dataclass(frozen=True)
class MergedSchema:
    """What became of two schemas. With conflicts, the merged one is the target's."""

    merged: SchemaVersion
    base: Catalog
    source: Catalog
    """The catalogs of base and source, where what is one thing has the target's identity."""
    unified: Mapping[int, int] = field(default_factory=dict)
    """Identities of the source that this merge found to be one thing with one of the target."""
    conflicts: tuple[SchemaConflict, ...] = field(default=())


def merge_schemas(
    base: Catalog,
    source: SchemaVersion,
    target: SchemaVersion,
    same: Iterable[tuple[int, int]] = (),
) -> MergedSchema:
    """Bring the changes that the source made since the base to the target.

    `same` are pairs of identities that earlier merges found to be one thing.
    """
    known = representatives(same, target.catalog)
    base, known_source = renumbered(base, known), renumbered(source.catalog, known)
    unified = additions_of_both(base, known_source, target.catalog)
    theirs = renumbered(known_source, unified)
    sides = _Sides(base, theirs, target.catalog)

    def result(
        merged: SchemaVersion = target, conflicts: tuple[SchemaConflict, ...] = ()
    ) -> MergedSchema:
        return MergedSchema(merged, base, theirs, unified, conflicts)

    trees = (tree_of(base), tree_of(theirs), tree_of(target.catalog))
    if trees[1] in (trees[0], trees[2]):
        return result()
    if trees[2] == trees[0] and theirs == source.catalog:
        return result(source)
    places: list[tuple[Any, ...]] = []
    merged = _three_way(*trees, (), places)
    conflicts = tuple(sides.conflict(*place) for place in dict.fromkeys(p[:3] for p in places))
    if not conflicts:
        conflicts = tuple(_names_claimed_twice(merged))
    if conflicts:
        return result(conflicts=conflicts)
    next_identity = max(c.next_identity for c in (base, theirs, target.catalog))
    try:
        catalog = catalog_of(merged, next_identity)
        text = to_source(catalog)
        again = compile_schema(text, accepted=catalog)
    except Dangling as error:
        return result(conflicts=(sides.dangling(error),))
    except InvalidInput as error:
        return result(conflicts=(_broken(error.message),))
    if fingerprint(again) != fingerprint(catalog):
        reason = "an interface and a type that implements it do not fit together any more"
        return result(conflicts=(_broken(reason),))
    return result(SchemaVersion(text, catalog))


def _three_way(base: Any, source: Any, target: Any, path: Any, conflicts: list[Any]) -> Any:  # noqa: ANN401
    """Who changed something alone has it; what both have equally is one; else branch by branch."""
    if source in (base, target):
        return target
    if target == base:
        return source
    if not all(isinstance(side, dict) for side in (base, source, target)):
        conflicts.append(_place(path))
        return target
    merged = {}
    for key in dict.fromkeys((*target, *source)):
        value = _three_way(base.get(key), source.get(key), target.get(key), (*path, key), conflicts)
        if value is not None:
            merged[key] = value
    return merged


def _place(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Kind, type and, inside a property, the property: where a conflict is reported."""
    prop = path[3] if len(path) > 3 and path[2] == "properties" else None
    return (path[0], path[1], prop)


# --------------------------------------------------------------------------- saying it


@dataclass(frozen=True)
class _Sides:
    base: Catalog
    source: Catalog
    target: Catalog

    def conflict(self, kind: Kind, identity: int, prop: int | None) -> SchemaConflict:
        found = [_find(catalog, kind, identity) for catalog in self._all()]
        texts = [_text(*each, prop) for each in zip(self._all(), found, strict=True)]
        name = next(type_.name for type_ in reversed(found) if type_)
        entity = f"{kind}:{name}"
        if prop is not None:
            named = [p.name for t in found if t and (p := t.by_identity.get(prop))]
            entity += f".{named[-1]}"
        return SchemaConflict(entity, f"{entity} {_verdict(*texts)}", *texts)

    def dangling(self, error: Dangling) -> SchemaConflict:
        found = [_find(catalog, error.kind, error.identity) for catalog in self._all()]
        texts = [_text(*each, None) for each in zip(self._all(), found, strict=True)]
        entity = f"{error.kind}:{error.name}"
        message = f"{entity} refers to {error.what}, which the other side dropped"
        return SchemaConflict(entity, message, *texts)

    def _all(self) -> tuple[Catalog, Catalog, Catalog]:
        return (self.base, self.source, self.target)


def _find(catalog: Catalog, kind: Kind, identity: int) -> TypeDeclaration | None:
    types: dict[str, Mapping[str, TypeDeclaration]] = {
        "interface": catalog.interfaces,
        "node": catalog.nodes,
        "edge": catalog.edges,
    }
    return next((type_ for type_ in types[kind].values() if type_.identity == identity), None)


def _text(catalog: Catalog, type_: TypeDeclaration | None, prop: int | None) -> str | None:
    if type_ is None:
        return None
    if prop is None:
        return declaration(catalog, type_)
    found = type_.by_identity.get(prop)
    return property_declaration(type_, found) if found else None


def _verdict(base: str | None, source: str | None, target: str | None) -> str:
    if base is None:
        return "was added on both sides with different declarations"
    if source is None or target is None:
        gone, changed = ("source", "target") if source is None else ("target", "source")
        return f"was dropped on the {gone} and changed on the {changed}"
    return "was changed differently on both sides"


def _names_claimed_twice(merged: Mapping[str, Any]) -> Iterator[SchemaConflict]:
    for kind in KINDS:
        types = merged.get(kind, {}).values()
        fold = str.lower if kind == "edge" else str
        counts = Counter(fold(type_["name"]) for type_ in types)
        for type_ in types:
            if counts[fold(type_["name"])] > 1:
                entity = f"{kind}:{type_['name']}"
                yield SchemaConflict(entity, f"two different {kind} types claim the name {entity}")
                counts[fold(type_["name"])] = 0
            twice = Counter(prop["name"] for prop in type_["properties"].values())
            for name, count in sorted(twice.items()):
                if count > 1:
                    entity = f"{kind}:{type_['name']}.{name}"
                    yield SchemaConflict(entity, f"two properties claim the name {entity}")


def _broken(reason: str) -> SchemaConflict:
    return SchemaConflict("schema", f"the two schemas together are not valid: {reason}")
