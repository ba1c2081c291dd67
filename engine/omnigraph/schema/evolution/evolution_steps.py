"""The steps of a schema plan, in the shapes of section 9.

`type_name` and `name` are the new names, after every rename of the plan. What else an executor
needs (identities, types, defaults) it finds in the two catalogs under these names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from omnigraph.schema.model.constraints import Cardinality, Constraint

DropMode = Literal["soft", "hard"]


@dataclass(frozen=True)
class AddType:
    type_kind: str
    name: str
    kind: ClassVar[str] = "add_type"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "type_kind": self.type_kind, "name": self.name}


@dataclass(frozen=True)
class RenameType:
    type_kind: str
    old: str
    new: str
    kind: ClassVar[str] = "rename_type"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "type_kind": self.type_kind, "from": self.old, "to": self.new}


@dataclass(frozen=True)
class DropType:
    """`code` tells people what would be lost; an interface holds no data and has none."""

    type_kind: str
    name: str
    mode: DropMode
    code: str | None
    kind: ClassVar[str] = "drop_type"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "name": self.name,
            "mode": self.mode,
        }


@dataclass(frozen=True)
class UpdateTypeMetadata:
    """`changed` names what: description, instruction, annotations or implements."""

    type_kind: str
    name: str
    changed: tuple[str, ...]
    kind: ClassVar[str] = "update_type_metadata"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "name": self.name,
            "changed": list(self.changed),
        }


@dataclass(frozen=True)
class ChangeCardinality:
    """`@card` admits more than before; no row needs a look."""

    type_kind: str
    type_name: str
    old: Cardinality
    new: Cardinality
    kind: ClassVar[str] = "change_cardinality"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "from": str(self.old),
            "to": str(self.new),
        }


@dataclass(frozen=True)
class _PropertyStep:
    """What every step on one property has."""

    type_kind: str
    type_name: str
    property_name: str
    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "property_name": self.property_name,
        }


@dataclass(frozen=True)
class AddProperty(_PropertyStep):
    property_type: str
    kind = "add_property"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"property_type": self.property_type}


@dataclass(frozen=True)
class RenameProperty:
    type_kind: str
    type_name: str
    old: str
    new: str
    kind: ClassVar[str] = "rename_property"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "from": self.old,
            "to": self.new,
        }


@dataclass(frozen=True)
class WidenProperty(_PropertyStep):
    old: str
    new: str
    kind = "widen_property"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"from": self.old, "to": self.new}


@dataclass(frozen=True)
class ExtendEnum(_PropertyStep):
    added_values: tuple[str, ...]
    kind = "extend_enum"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"added_values": list(self.added_values)}


@dataclass(frozen=True)
class DropProperty(_PropertyStep):
    mode: DropMode
    code: str | None
    kind = "drop_property"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"mode": self.mode}


@dataclass(frozen=True)
class UpdatePropertyMetadata(_PropertyStep):
    """`changed` names what: description, annotations or default."""

    changed: tuple[str, ...]
    kind = "update_property_metadata"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"changed": list(self.changed)}


@dataclass(frozen=True)
class _ConstraintStep:
    """What adding and dropping have; members that survive carry their new names."""

    type_kind: str
    type_name: str
    constraint: Constraint
    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "type_kind": self.type_kind,
            "type_name": self.type_name,
            "constraint": self.constraint.to_json(),
        }


@dataclass(frozen=True)
class AddConstraint(_ConstraintStep):
    kind = "add_constraint"


@dataclass(frozen=True)
class DropConstraint(_ConstraintStep):
    kind = "drop_constraint"


@dataclass(frozen=True)
class UnsupportedChange:
    """Something the planner will not do; `entity` is `node:Ship` or `node:Ship.flag`."""

    entity: str
    reason: str
    code: str | None = None
    kind: ClassVar[str] = "unsupported_change"

    def to_json(self) -> dict[str, Any]:
        body = {"kind": self.kind, "entity": self.entity, "reason": self.reason}
        return body if self.code is None else body | {"code": self.code}

    def __str__(self) -> str:
        return self.reason if self.code is None else f"[{self.code}] {self.reason}"


EvolutionStep = (
    AddType
    | RenameType
    | DropType
    | UpdateTypeMetadata
    | ChangeCardinality
    | AddProperty
    | RenameProperty
    | WidenProperty
    | ExtendEnum
    | DropProperty
    | UpdatePropertyMetadata
    | AddConstraint
    | DropConstraint
    | UnsupportedChange
)
