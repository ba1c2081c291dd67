"""Three-way merge of schemas by stable identity.

The rules are docs/design/branching.md#schemas.

A catalog becomes a tree in which declarations are found by identity and everything that can be
added alone is a subtree of its own: properties, constraints, enum values, annotations. Two trees
with a common base merge by one rule at every node; where the rule has no answer, the declaration
conflicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

_Declaration = tuple[Kind, int, int | None]
"""Where a conflict is reported: kind, type and, inside a property, the property."""


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
        return {name: value for name, value in vars(self).items() if name != "message"}


@dataclass(frozen=True)
class MergedSchema:
    """What became of two schemas. With conflicts, the merged one is the target's."""

    merged: SchemaVersion
    base: Catalog
    source: Catalog
    """The catalogs of base and source, with the target's identity for what is one declaration."""
    unified: Mapping[int, int] = field(default_factory=dict)
    """Identities of the source that this merge unified with one of the target."""
    conflicts: tuple[SchemaConflict, ...] = field(default=())


def merge_schemas(
    base: Catalog,
    source: SchemaVersion,
    target: SchemaVersion,
    same: Iterable[tuple[int, int]] = (),
) -> MergedSchema:
    """Bring the changes that the source made since the base to the target.

    `same` are pairs of identities that earlier merges unified.
    """
    known = representatives(same, target.catalog)
    base, theirs = renumbered(base, known), renumbered(source.catalog, known)
    unified = additions_of_both(base, theirs, target.catalog)
    theirs = renumbered(theirs, unified)
    catalogs = (base, theirs, target.catalog)

    def result(
        merged: SchemaVersion = target, conflicts: tuple[SchemaConflict, ...] = ()
    ) -> MergedSchema:
        return MergedSchema(merged, base, theirs, unified, conflicts)

    base_tree, source_tree, target_tree = map(tree_of, catalogs)
    if source_tree in (base_tree, target_tree):
        return result()
    if target_tree == base_tree and theirs == source.catalog:
        return result(source)
    clashes: dict[_Declaration, None] = {}
    merged = _three_way(base_tree, source_tree, target_tree, (), clashes)
    conflicts = tuple(_conflict(catalogs, *declaration) for declaration in clashes)
    if not conflicts:
        conflicts = tuple(_names_claimed_twice(merged))
    if conflicts:
        return result(conflicts=conflicts)
    next_identity = max(catalog.next_identity for catalog in catalogs)
    try:
        catalog = catalog_of(merged, next_identity)
        text = to_source(catalog)
        again = compile_schema(text, accepted=catalog)
    except Dangling as error:
        return result(conflicts=(_dangling(catalogs, error),))
    except InvalidInput as error:
        return result(conflicts=(_broken(error.message),))
    if fingerprint(again) != fingerprint(catalog):
        reason = "an interface and a type that implements it contradict each other"
        return result(conflicts=(_broken(reason),))
    return result(SchemaVersion(text, catalog))


def _three_way(base: Any, source: Any, target: Any, path: Any, clashes: Any) -> Any:  # noqa: ANN401
    """What only one side changed has its value; what both have equally is one; else key by key."""
    if source in (base, target):
        return target
    if target == base:
        return source
    if not all(isinstance(side, dict) for side in (base, source, target)):
        prop = path[3] if len(path) > 3 and path[2] == "properties" else None
        clashes[path[0], path[1], prop] = None
        return target
    merged = {}
    for key in dict.fromkeys((*target, *source)):
        value = _three_way(base.get(key), source.get(key), target.get(key), (*path, key), clashes)
        if value is not None:
            merged[key] = value
    return merged


# --------------------------------------------------------------------------- conflicts


def _conflict(
    catalogs: Sequence[Catalog], kind: Kind, identity: int, prop: int | None
) -> SchemaConflict:
    types = [type_ for catalog in catalogs if (type_ := _find(catalog, kind, identity))]
    entity = f"{kind}:{types[-1].name}"
    if prop is not None:
        entity += f".{[p.name for t in types if (p := t.by_identity.get(prop))][-1]}"
    texts = [_text(catalog, kind, identity, prop) for catalog in catalogs]
    return SchemaConflict(entity, f"{entity} {_verdict(*texts)}", *texts)


def _dangling(catalogs: Sequence[Catalog], error: Dangling) -> SchemaConflict:
    entity = f"{error.kind}:{error.name}"
    message = f"{entity} refers to {error.what}, which the other side dropped"
    texts = (_text(catalog, error.kind, error.identity, None) for catalog in catalogs)
    return SchemaConflict(entity, message, *texts)


def _find(catalog: Catalog, kind: Kind, identity: int) -> TypeDeclaration | None:
    types = catalog.by_kind[kind].values()
    return next((type_ for type_ in types if type_.identity == identity), None)


def _text(catalog: Catalog, kind: Kind, identity: int, prop: int | None) -> str | None:
    type_ = _find(catalog, kind, identity)
    if type_ is None or prop is None:
        return declaration(catalog, type_) if type_ else None
    declared = type_.by_identity.get(prop)
    return property_declaration(type_, declared) if declared else None


def _verdict(base: str | None, source: str | None, target: str | None) -> str:
    if base is None:
        return "was added on both sides with different declarations"
    if source is None or target is None:
        dropper, other = ("source", "target") if source is None else ("target", "source")
        return f"was dropped on the {dropper} and changed on the {other}"
    return "was changed differently on both sides"


def _names_claimed_twice(merged: Mapping[str, Any]) -> Iterator[SchemaConflict]:
    for kind in ("interface", "node", "edge"):
        types = merged.get(kind, {}).values()
        fold = str.lower if kind == "edge" else str
        counts = Counter(fold(type_["name"]) for type_ in types)
        for type_ in types:
            if counts[fold(type_["name"])] > 1:
                entity = f"{kind}:{type_['name']}"
                yield SchemaConflict(entity, f"two different {kind} types are named {entity}")
                counts[fold(type_["name"])] = 0
            twice = Counter(prop["name"] for prop in type_["properties"].values())
            for name, count in sorted(twice.items()):
                if count > 1:
                    entity = f"{kind}:{type_['name']}.{name}"
                    yield SchemaConflict(entity, f"two properties are named {entity}")


def _broken(reason: str) -> SchemaConflict:
    return SchemaConflict("schema", f"the merged schema is not valid: {reason}")
