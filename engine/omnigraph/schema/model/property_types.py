"""The types a property can have, as values that compare and print.

The storage side of each type is in `arrow_schema`; here a type is only what the language says.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

TypeKind = Literal["scalar", "enum", "vector", "list"]
IndexKind = Literal["btree", "inverted", "vector"]

MAX_DIMENSION = 2147483647


class Scalar(StrEnum):
    """The scalar types, spelled as in a `.pg` file."""

    STRING = "String"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATETIME = "DateTime"
    DATE = "Date"
    BLOB = "Blob"


INTEGERS = frozenset({Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})
FLOATS = frozenset({Scalar.F32, Scalar.F64})

INTEGER_RANGES = {
    Scalar.I32: (-(2**31), 2**31 - 1),
    Scalar.I64: (-(2**63), 2**63 - 1),
    Scalar.U32: (0, 2**32 - 1),
    Scalar.U64: (0, 2**64 - 1),
    Scalar.DATE: (-(2**31), 2**31 - 1),
    Scalar.DATETIME: (-(2**63), 2**63 - 1),
}
"""The stored integers of each type; a Date counts days, a DateTime microseconds."""


def finite_float(value: float, scalar: Scalar) -> float | None:
    """A number as F32 or F64 has it, which may round it; none where that is not finite."""
    try:
        number = float(value)
        if scalar is Scalar.F32:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


# Every value of the first type is a value of the second, so stored data survives the change.
WIDENINGS = {Scalar.I32: Scalar.I64, Scalar.U32: Scalar.U64, Scalar.F32: Scalar.F64}


@dataclass(frozen=True)
class PropertyType:
    """One property type.

    `scalar` is the element type of a list, String for an enum and F32 for a vector: the type of
    the single values. `values` is sorted, so two enums that list the same values are equal.
    """

    kind: TypeKind
    scalar: Scalar
    values: tuple[str, ...] = ()
    dimension: int | None = None
    nullable: bool = False

    def __str__(self) -> str:
        return self._bare() + ("?" if self.nullable else "")

    def _bare(self) -> str:
        match self.kind:
            case "enum":
                return f"enum({', '.join(self.values)})"
            case "vector":
                return f"Vector({self.dimension})"
            case "list":
                return f"[{self.scalar}]"
            case _:
                return str(self.scalar)

    @property
    def is_scalar(self) -> bool:
        return self.kind == "scalar"

    @property
    def is_enum(self) -> bool:
        return self.kind == "enum"

    @property
    def is_list(self) -> bool:
        return self.kind == "list"

    @property
    def is_vector(self) -> bool:
        return self.kind == "vector"

    @property
    def is_blob(self) -> bool:
        return self.is_scalar and self.scalar is Scalar.BLOB

    @property
    def is_string(self) -> bool:
        """Free text: a String that is neither an enum nor inside a list."""
        return self.is_scalar and self.scalar is Scalar.STRING

    @property
    def is_text(self) -> bool:
        """Stored as text: a String or an enum."""
        return self.is_string or self.is_enum

    @property
    def is_integer(self) -> bool:
        return self.is_scalar and self.scalar in INTEGERS

    @property
    def is_float(self) -> bool:
        return self.is_scalar and self.scalar in FLOATS

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_float

    @property
    def is_temporal(self) -> bool:
        return self.is_scalar and self.scalar in (Scalar.DATE, Scalar.DATETIME)

    @property
    def has_key_text(self) -> bool:
        """Whether its values have a text (docs/design/schema-language.md#5-keys-and-ids).

        Only then they can be keys or unique.
        """
        return self.is_enum or (self.is_scalar and not self.is_blob)

    @property
    def index_kind(self) -> IndexKind | None:
        """The index that `@index` on one property of this type stands for, if any."""
        if self.is_vector:
            return "vector"
        if self.is_string:
            return "inverted"
        return "btree" if self.has_key_text else None

    def with_nullable(self, nullable: bool) -> PropertyType:
        return replace(self, nullable=nullable)

    def to_json(self) -> dict[str, Any]:
        body = vars(self) | {"scalar": str(self.scalar), "values": list(self.values)}
        return {name: value for name, value in body.items() if value not in (None, [])}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> PropertyType:
        parsed = {"scalar": Scalar(body["scalar"]), "values": tuple(body.get("values", ()))}
        return cls(**body | parsed)


def scalar_type(scalar: Scalar, *, nullable: bool = False) -> PropertyType:
    return PropertyType("scalar", scalar, nullable=nullable)


def enum_type(*values: str, nullable: bool = False) -> PropertyType:
    return PropertyType("enum", Scalar.STRING, tuple(sorted(set(values))), nullable=nullable)


def vector_type(dimension: int, *, nullable: bool = False) -> PropertyType:
    return PropertyType("vector", Scalar.F32, dimension=dimension, nullable=nullable)


def list_type(element: Scalar, *, nullable: bool = False) -> PropertyType:
    return PropertyType("list", element, nullable=nullable)
