"""A `.pg` text to a catalog: parse, check, resolve interfaces, give identities."""

from __future__ import annotations

from typing import Any

from omnigraph.schema.compiler.annotations import TypeNotes, read_type
from omnigraph.schema.compiler.assign_identities import Hints, PropertyId, TypeId, assign_identities
from omnigraph.schema.compiler.check_declarations import check_names, check_type
from omnigraph.schema.compiler.interfaces import (
    Effective,
    EffectiveProperty,
    effective_properties,
    own_properties,
)
from omnigraph.schema.model.catalog import (
    Catalog,
    EdgeType,
    Interface,
    NodeType,
    Property,
    by_constraint_kind,
)
from omnigraph.schema.model.constraints import (
    Cardinality,
    Constraint,
    Index,
    Key,
    PatternCheck,
    Range,
    RangeBound,
    Unique,
)
from omnigraph.schema.syntax.diagnostics import pointing_into
from omnigraph.schema.syntax.parse import parse
from omnigraph.schema.syntax.tree import (
    CheckConstraint,
    EdgeTree,
    LiteralNode,
    OwnerTree,
    RangeConstraint,
    SchemaTree,
    TupleConstraint,
)

_NO_IDENTITY = 0
_TUPLES: dict[str, type[Key | Unique | Index]] = {"key": Key, "unique": Unique, "index": Index}


def compile_schema(
    source: str,
    *,
    accepted: Catalog | None = None,
    first_identity: int = 1,
    file: str | None = None,
) -> Catalog:
    """The catalog a text declares.

    With `accepted` the identities of what continues are kept; without, this is a first creation
    and rename hints are inert. New identities are taken from
    `max(first_identity, accepted.next_identity)` on.
    """
    tree = parse(source, file)
    with pointing_into(tree):
        check_names(tree)
        properties = _resolved_properties(tree)
        for owner in tree.owners:
            check_type(owner, properties[_type_id(owner)])
        notes = {_type_id(owner): read_type(owner.kind, owner.annotations) for owner in tree.owners}
        draft = _draft(tree, properties, notes)
        return assign_identities(draft, _hints(properties, notes), accepted, first_identity)


def _resolved_properties(tree: SchemaTree) -> dict[TypeId, Effective]:
    """The effective properties of every declaration."""
    interfaces = {i.name.text: own_properties(i) for i in tree.interfaces}
    nodes = {_type_id(n): effective_properties(n, interfaces) for n in tree.nodes}
    edges = {_type_id(e): own_properties(e) for e in tree.edges}
    return {("interface", name): props for name, props in interfaces.items()} | nodes | edges


def _type_id(owner: OwnerTree) -> TypeId:
    return owner.kind, owner.name.text


# --------------------------------------------------------------------------- draft


def _draft(
    tree: SchemaTree, properties: dict[TypeId, Effective], notes: dict[TypeId, TypeNotes]
) -> Catalog:
    """The catalog before anything has an identity."""

    def common(owner: OwnerTree) -> dict[str, Any]:
        type_id = _type_id(owner)
        return _common(owner, properties[type_id], notes[type_id])

    interfaces = {i.name.text: Interface(**common(i)) for i in tree.interfaces}
    nodes = {
        n.name.text: NodeType(**common(n), implements=tuple(sorted(i.text for i in n.implements)))
        for n in tree.nodes
    }
    edges = {
        e.name.text: EdgeType(
            **common(e), src=e.src.text, dst=e.dst.text, cardinality=_cardinality(e)
        )
        for e in tree.edges
    }
    return Catalog(nodes, edges, interfaces)


def _common(owner: OwnerTree, properties: Effective, notes: TypeNotes) -> dict[str, Any]:
    declared: set[Constraint] = set()
    for constraint in owner.constraints:
        match constraint:
            case TupleConstraint(kind, members):
                declared.add(_TUPLES[kind](tuple(member.text for member in members)))
            case RangeConstraint(member, lo, hi):
                declared.add(Range(member.text, _bound(lo), _bound(hi)))
            case CheckConstraint(member, pattern):
                declared.add(PatternCheck(member.text, str(pattern.value)))
    # The property form is sugar for the body constraint of one member.
    declared |= {_TUPLES[kind]((name,)) for name, p in properties.items() for kind in p.notes.sugar}
    return {
        "name": owner.name.text,
        "identity": _NO_IDENTITY,
        "properties": tuple(_property(properties[name]) for name in sorted(properties)),
        "key": next((constraint for constraint in declared if isinstance(constraint, Key)), None),
        **by_constraint_kind(sorted(declared, key=str)),
        "description": notes.description,
        "instruction": notes.instruction,
        "annotations": tuple(sorted(notes.others, key=repr)),
        "rename_from": _hint_text(notes.rename_from),
    }


def _property(prop: EffectiveProperty) -> Property:
    notes = prop.notes
    return Property(
        prop.name,
        prop.tree.type,
        _NO_IDENTITY,
        tuple(sorted(notes.others, key=repr)),
        notes.description,
        notes.embed,
        None if notes.default is None else notes.default.value,
        _hint_text(notes.rename_from),
    )


def _hint_text(hint: LiteralNode | None) -> str | None:
    return None if hint is None else str(hint.value)


def _bound(bound: RangeBound | None) -> RangeBound | None:
    # `0` and `0.0` bound the same values, so they are one constraint.
    if isinstance(bound, float) and bound.is_integer() and abs(bound) < 2**53:
        return int(bound)
    return bound


def _cardinality(edge: EdgeTree) -> Cardinality:
    card = edge.cardinality
    return Cardinality(card.min, card.max) if card else Cardinality()


# --------------------------------------------------------------------------- hints


def _hints(properties: dict[TypeId, Effective], notes: dict[TypeId, TypeNotes]) -> Hints:
    on_properties: dict[PropertyId, LiteralNode] = {}
    weak: set[PropertyId] = set()
    for (kind, owner), effective in properties.items():
        for name, prop in effective.items():
            if prop.notes.rename_from is not None:
                on_properties[kind, owner, name] = prop.notes.rename_from
                if prop.injected:
                    weak.add((kind, owner, name))
    on_types = {key: note.rename_from for key, note in notes.items() if note.rename_from}
    return Hints(on_types, on_properties, frozenset(weak))
