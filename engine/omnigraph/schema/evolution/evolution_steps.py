"""The steps of a schema plan, and their JSON form.

`type_name` and `name` are the new names, after every rename of the plan. What else an executor
needs (identities, types, defaults) it finds in the two catalogs under these names.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from omnigraph.schema.model.constraints import Cardinality, Constraint

DropMode = Literal["soft", "hard"]

_JSON_NAMES = {"old": "from", "new": "to"}


@dataclass(frozen=True)
class EvolutionStep:
    """One step. `code` tells people what would be lost; only a refusal shows it."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        values = {
            _JSON_NAMES.get(each.name, each.name): getattr(self, each.name)
            for each in fields(self)
            if each.name != "code"
        }
        return {"kind": self.kind} | {name: _json(value) for name, value in values.items()}


def _json(value: object) -> object:
    match value:
        case Cardinality() | str():
            return str(value)
        case tuple():
            return list(value)
        case _:
            return value.to_json()  # type: ignore[attr-defined]  # a constraint


@dataclass(frozen=True)
class AddType(EvolutionStep):
    type_kind: str
    name: str
    kind = "add_type"


@dataclass(frozen=True)
class RenameType(EvolutionStep):
    type_kind: str
    old: str
    new: str
    kind = "rename_type"


@dataclass(frozen=True)
class DropType(EvolutionStep):
    """An interface holds no data, so dropping it has no code."""

    type_kind: str
    name: str
    mode: DropMode
    code: str | None
    kind = "drop_type"


@dataclass(frozen=True)
class UpdateTypeMetadata(EvolutionStep):
    """`changed` names what: description, instruction, annotations or implements."""

    type_kind: str
    name: str
    changed: tuple[str, ...]
    kind = "update_type_metadata"


@dataclass(frozen=True)
class _StepInType(EvolutionStep):
    type_kind: str
    type_name: str


@dataclass(frozen=True)
class ChangeCardinality(_StepInType):
    """`@card` admits more than before, so no row has to be checked."""

    old: Cardinality
    new: Cardinality
    kind = "change_cardinality"


@dataclass(frozen=True)
class _PropertyStep(_StepInType):
    property_name: str


@dataclass(frozen=True)
class AddProperty(_PropertyStep):
    property_type: str
    kind = "add_property"


@dataclass(frozen=True)
class RenameProperty(_StepInType):
    old: str
    new: str
    kind = "rename_property"


@dataclass(frozen=True)
class WidenProperty(_PropertyStep):
    old: str
    new: str
    kind = "widen_property"


@dataclass(frozen=True)
class ExtendEnum(_PropertyStep):
    added_values: tuple[str, ...]
    kind = "extend_enum"


@dataclass(frozen=True)
class DropProperty(_PropertyStep):
    mode: DropMode
    code: str | None
    kind = "drop_property"


@dataclass(frozen=True)
class UpdatePropertyMetadata(_PropertyStep):
    """`changed` names what: description, annotations or default."""

    changed: tuple[str, ...]
    kind = "update_property_metadata"


@dataclass(frozen=True)
class _ConstraintStep(_StepInType):
    """What adding and dropping have; members that survive carry their new names."""

    constraint: Constraint


@dataclass(frozen=True)
class AddConstraint(_ConstraintStep):
    kind = "add_constraint"


@dataclass(frozen=True)
class DropConstraint(_ConstraintStep):
    kind = "drop_constraint"


@dataclass(frozen=True)
class UnsupportedChange(EvolutionStep):
    """Something the planner will not do; `entity` is `node:Ship` or `node:Ship.flag`."""

    entity: str
    reason: str
    code: str | None = None
    kind = "unsupported_change"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | ({} if self.code is None else {"code": self.code})

    def __str__(self) -> str:
        return self.reason if self.code is None else f"[{self.code}] {self.reason}"
