"""The plan of a schema change: the steps from one catalog to the next.

Both catalogs carry identities, so what is a rename and what is a new thing is already decided;
the planner only compares. Steps come by kind (interfaces, nodes, edges); in a kind the dropped
types first and then the others by name; in a type in the order of `_TYPE_PASSES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from omnigraph.errors import UnsupportedSchemaChange
from omnigraph.schema.evolution.evolution_steps import (
    AddConstraint,
    AddProperty,
    AddType,
    ChangeCardinality,
    DropConstraint,
    DropMode,
    DropProperty,
    DropType,
    EvolutionStep,
    ExtendEnum,
    RenameProperty,
    RenameType,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
    WidenProperty,
)
from omnigraph.schema.model.catalog import (
    Catalog,
    EdgeType,
    NodeType,
    Property,
    TypeDeclaration,
)
from omnigraph.schema.model.constraints import Constraint, Index, PatternCheck, Range
from omnigraph.schema.model.property_types import WIDENINGS, PropertyType

DROP_TYPE_CODES = {"node": "OG-DS-102", "edge": "OG-DS-103"}
DROP_PROPERTY = "OG-DS-104"
ADD_REQUIRED = "OG-MF-103"
CHANGE_TYPE = "OG-MF-106"


@dataclass(frozen=True)
class SchemaPlan:
    """What applying a schema would do. `diagnostics` are remarks, such as stale rename hints."""

    steps: tuple[EvolutionStep, ...]
    diagnostics: tuple[str, ...] = ()

    @cached_property
    def supported(self) -> bool:
        return self.first_unsupported is None

    @cached_property
    def first_unsupported(self) -> UnsupportedChange | None:
        return next((s for s in self.steps if isinstance(s, UnsupportedChange)), None)

    @property
    def is_empty(self) -> bool:
        return not self.steps

    def raise_unsupported(self) -> None:
        """Raise for the first step that cannot be done, if there is one."""
        step = self.first_unsupported
        if step is not None:
            facts = {"code": step.code, "entity": step.entity, "reason": step.reason}
            raise UnsupportedSchemaChange(str(step), details={"schema_change": facts})

    def to_json(self) -> dict[str, Any]:
        return {"supported": self.supported, "steps": [step.to_json() for step in self.steps]}


def plan_evolution(
    accepted: Catalog, desired: Catalog, *, allow_data_loss: bool = False
) -> SchemaPlan:
    """The steps from `accepted` to `desired`, which was compiled against it."""
    change = _Change(accepted, desired, "hard" if allow_data_loss else "soft")
    steps: list[EvolutionStep] = []
    for kind, new_types in desired.by_kind.items():
        old_types = accepted.by_kind[kind]
        old_by_identity = {type_.identity: type_ for type_ in old_types.values()}
        remaining = {type_.identity for type_ in new_types.values()}
        for _, type_ in sorted(old_types.items()):
            if type_.identity not in remaining:
                steps.append(_drop_type(change, type_))
        for _, new in sorted(new_types.items()):
            old = old_by_identity.get(new.identity)
            if old is None:
                steps.append(AddType(new.kind, new.name))
            else:
                pair = _Pair(change, old, new)
                steps += [step for each in _TYPE_PASSES for step in each(pair)]
    return SchemaPlan(tuple(steps), tuple(_stale_hints(accepted, desired)))


@dataclass(frozen=True)
class _Change:
    accepted: Catalog
    desired: Catalog
    mode: DropMode


@dataclass(frozen=True)
class _Pair:
    """One type before and after."""

    change: _Change
    old: TypeDeclaration
    new: TypeDeclaration

    @property
    def kind(self) -> str:
        return self.new.kind

    @property
    def name(self) -> str:
        return self.new.name

    @property
    def entity(self) -> str:
        return f"{self.kind}:{self.name}"

    @cached_property
    def properties(self) -> tuple[tuple[Property, Property], ...]:
        """The properties on both sides, by new name."""
        return tuple(
            (self.old.by_identity[prop.identity], prop)
            for prop in self.new.properties
            if prop.identity in self.old.by_identity
        )


def _drop_type(change: _Change, type_: TypeDeclaration) -> EvolutionStep:
    if type_.kind == "interface":
        remaining = {node.identity for node in change.desired.nodes.values()}
        for _, node in sorted(change.accepted.nodes.items()):
            if type_.name in node.implements and node.identity in remaining:
                return UnsupportedChange(
                    f"interface:{type_.name}",
                    f"interface {type_.name} is still implemented by {node.name}; "
                    "first apply a schema in which no type implements it",
                )
    return DropType(type_.kind, type_.name, change.mode, DROP_TYPE_CODES.get(type_.kind))


# --------------------------------------------------------------------------- passes over one type


def _rename_type(pair: _Pair) -> Iterator[EvolutionStep]:
    if pair.old.name != pair.new.name:
        yield RenameType(pair.kind, pair.old.name, pair.new.name)


def _rename_properties(pair: _Pair) -> Iterator[EvolutionStep]:
    for old, new in pair.properties:
        if old.name != new.name:
            yield RenameProperty(pair.kind, pair.name, old.name, new.name)


def _drop_constraints(pair: _Pair) -> Iterator[EvolutionStep]:
    for constraint in _declared_only_by(pair.old, pair.new):
        yield DropConstraint(pair.kind, pair.name, _renamed(pair, constraint))


def _drop_properties(pair: _Pair) -> Iterator[EvolutionStep]:
    for prop in pair.old.properties:
        if prop.identity not in pair.new.by_identity:
            code = None if pair.kind == "interface" else DROP_PROPERTY
            yield DropProperty(pair.kind, pair.name, prop.name, pair.change.mode, code)


def _add_properties(pair: _Pair) -> Iterator[EvolutionStep]:
    for prop in pair.new.properties:
        if prop.identity in pair.old.by_identity:
            continue
        # An interface has no rows; whether its nodes can take the property is their own step.
        if prop.nullable or prop.default is not None or pair.kind == "interface":
            yield AddProperty(pair.kind, pair.name, prop.name, str(prop.type))
        else:
            yield UnsupportedChange(
                f"{pair.entity}.{prop.name}",
                f"{pair.name}.{prop.name} is new and required; make it {prop.type}? or give it "
                "a @default",
                ADD_REQUIRED,
            )


def _change_properties(pair: _Pair) -> Iterator[EvolutionStep]:
    for old, new in pair.properties:
        if old.type != new.type:
            yield _change_type(pair, old, new)
        if _embedding(pair.old, old) != _embedding(pair.new, new):
            yield UnsupportedChange(
                f"{pair.entity}.{new.name}", f"@embed of {pair.name}.{new.name} cannot change"
            )


def _change_type(pair: _Pair, old: Property, new: Property) -> EvolutionStep:
    in_key = pair.new.key is not None and new.name in pair.new.key.members
    if _is_widening(old.type, new.type) and not (in_key and old.type.is_float):
        return WidenProperty(pair.kind, pair.name, new.name, str(old.type), str(new.type))
    if old.type.is_enum and new.type.is_enum and old.type.nullable == new.type.nullable:
        added = sorted(set(new.type.values) - set(old.type.values))
        if set(old.type.values) < set(new.type.values):
            return ExtendEnum(pair.kind, pair.name, new.name, tuple(added))
    # A wider float prints more digits, so a float key that widened would change its ids.
    why = " because it is part of the key" if in_key and _is_widening(old.type, new.type) else ""
    return UnsupportedChange(
        f"{pair.entity}.{new.name}",
        f"{pair.name}.{new.name} cannot change from {old.type} to {new.type}{why}",
        CHANGE_TYPE,
    )


def _change_key(pair: _Pair) -> Iterator[EvolutionStep]:
    old, new = pair.old.key, pair.new.key
    if (old and pair.old.signature(old)) != (new and pair.new.signature(new)):
        verb = "added" if old is None else "removed" if new is None else "changed"
        yield UnsupportedChange(
            pair.entity, f"the @key of {pair.name} cannot be {verb}; ids are derived from it"
        )


def _change_edge(pair: _Pair) -> Iterator[EvolutionStep]:
    old, new = pair.old, pair.new
    if not (isinstance(old, EdgeType) and isinstance(new, EdgeType)):
        return
    if _endpoints(pair.change.accepted, old) != _endpoints(pair.change.desired, new):
        yield UnsupportedChange(
            pair.entity,
            f"the endpoints of {pair.name} cannot change from {old.src} -> {old.dst} "
            f"to {new.src} -> {new.dst}",
        )
    before, after = old.cardinality, new.cardinality
    if before == after:
        return
    if after.admits(before):
        yield ChangeCardinality(pair.kind, pair.name, before, after)
    else:
        reason = f"the cardinality of {pair.name} cannot be tightened from {before} to {after}"
        yield UnsupportedChange(pair.entity, reason)


def _add_constraints(pair: _Pair) -> Iterator[EvolutionStep]:
    for constraint in _declared_only_by(pair.new, pair.old):
        yield AddConstraint(pair.kind, pair.name, constraint)


def _update_metadata(pair: _Pair) -> Iterator[EvolutionStep]:
    names = ["description", "instruction", "annotations"]
    names += ["implements"] if isinstance(pair.new, NodeType) else []
    if changed := _differing(pair.old, pair.new, names):
        yield UpdateTypeMetadata(pair.kind, pair.name, changed)
    for old, new in pair.properties:
        if changed := _differing(old, new, ["description", "annotations", "default"]):
            yield UpdatePropertyMetadata(pair.kind, pair.name, new.name, changed)


# Renames come first, so that every later step can use the new names; constraints go before the
# properties they name, and come after them.
_TYPE_PASSES = (
    _rename_type,
    _rename_properties,
    _drop_constraints,
    _drop_properties,
    _add_properties,
    _change_properties,
    _change_key,
    _change_edge,
    _add_constraints,
    _update_metadata,
)


# --------------------------------------------------------------------------- comparing


def _declared(type_: TypeDeclaration) -> dict[tuple[object, ...], Constraint]:
    """The constraints to compare: the index that a key implies stands and falls with the key."""
    implied = type_.key and Index(type_.key.members)
    return {type_.signature(each): each for each in type_.constraints if each != implied}


def _declared_only_by(one: TypeDeclaration, other: TypeDeclaration) -> Iterator[Constraint]:
    known = _declared(other)
    return (each for signature, each in _declared(one).items() if signature not in known)


def _renamed(pair: _Pair, constraint: Constraint) -> Constraint:
    """A constraint of the old type in the new names of those members that survive."""

    def new_name(member: str) -> str:
        old = pair.old.by_name.get(member)
        new = pair.new.by_identity.get(old.identity) if old else None
        return new.name if new else member

    match constraint:
        case Range() | PatternCheck():
            return replace(constraint, prop=new_name(constraint.prop))
        case _:
            return replace(constraint, members=tuple(new_name(m) for m in constraint.members))


def _is_widening(old: PropertyType, new: PropertyType) -> bool:
    if old.nullable and not new.nullable:
        return False
    if old.with_nullable(new.nullable) == new:
        return True
    return old.is_scalar and new.is_scalar and WIDENINGS.get(old.scalar) == new.scalar


def _embedding(type_: TypeDeclaration, prop: Property) -> tuple[object, ...] | None:
    if prop.embed is None:
        return None
    source = type_.by_name.get(prop.embed.source)
    return (source.identity if source else prop.embed.source, prop.embed.model)


def _endpoints(catalog: Catalog, edge: EdgeType) -> tuple[int, int]:
    return (catalog.node(edge.src).identity, catalog.node(edge.dst).identity)


def _differing(old: object, new: object, names: list[str]) -> tuple[str, ...]:
    # By repr, because `@since(1)`, `@since(1.0)` and `@since(true)` are different texts.
    return tuple(name for name in names if repr(getattr(old, name)) != repr(getattr(new, name)))


def _stale_hints(accepted: Catalog, desired: Catalog) -> Iterator[str]:
    for kind, new_types in desired.by_kind.items():
        for name, new in sorted(new_types.items()):
            old = accepted.by_kind[kind].get(name)
            if old is None:
                continue
            if new.rename_from is not None:
                yield _stale(f"{kind} {name}", new.rename_from)
            for prop in new.properties:
                if prop.rename_from is not None and prop.name in old.by_name:
                    yield _stale(f"{name}.{prop.name}", prop.rename_from)


def _stale(what: str, hint: str) -> str:
    return f'{what} exists already, so its @rename_from("{hint}") is ignored'
