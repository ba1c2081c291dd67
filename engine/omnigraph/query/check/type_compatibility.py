"""Which types go together: the last paragraph of docs/design/query-language.md#9-type-codes."""

from __future__ import annotations

from omnigraph.schema.model.property_types import (
    FLOATS,
    INTEGERS,
    PropertyType,
    Scalar,
    scalar_type,
)


def compatible(a: PropertyType, b: PropertyType) -> bool:
    """Numbers with numbers, else the same kind; null or not plays no part."""
    if a.is_vector or b.is_vector:
        return a.is_vector and b.is_vector and a.dimension == b.dimension
    return a.is_list == b.is_list and same_kind(a.scalar, b.scalar)


def same_kind(a: Scalar, b: Scalar) -> bool:
    numbers = INTEGERS | FLOATS
    return a is b or (a in numbers and b in numbers)


def element(type_: PropertyType) -> PropertyType:
    """The type of one member of a list."""
    return scalar_type(type_.scalar)


def a_type(type_: PropertyType) -> str:
    """The type with its article: `a String`, `an I64`."""
    name = str(type_.with_nullable(False))  # a message need not say whether null is allowed
    return f"{'an' if name[0] in 'IFe' else 'a'} {name}"
