"""Checks of single values, vectorised over a batch: enum, @range, @check, required, finite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import ConstraintViolation, LoadError
from omnigraph.schema import EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import pattern_matches
from omnigraph.schema.model.property_types import Scalar
from omnigraph.storage.constraints import violations

Problems = Iterator[ConstraintViolation | LoadError]


def check_values(type_: NodeType | EdgeType, rows: pa.Table) -> None:
    """Raise the first violation of a value constraint, by constraint and then by row."""
    for problem in value_problems(type_, rows):
        raise problem


def value_problems(type_: NodeType | EdgeType, rows: pa.Table) -> Problems:
    """The first violation of each value constraint."""
    yield from _check_required(type_, rows)
    for prop in type_.properties:
        column = rows.column(prop.name)
        if prop.type.kind == "enum":
            yield from _check_enum(type_, prop.name, column, prop.type.values)
        elif prop.type.scalar in (Scalar.F32, Scalar.F64):
            yield from _check_finite(type_, prop.name, column)
    for rule in type_.ranges:
        yield from _check_range(type_.name, rule.prop, rows.column(rule.prop), rule.lo, rule.hi)
    for check in type_.checks:
        column = rows.column(check.prop)
        bad = _first(column, pc.invert(pattern_matches(column, check.pattern)))
        if bad is not None:
            yield violations.check(type_.name, check.prop, bad, check.pattern)


def _check_required(type_: NodeType | EdgeType, rows: pa.Table) -> Problems:
    required = [f.name for f in rows.schema if f.name in ("id", "src", "dst")]
    required += [p.name for p in type_.properties if not p.nullable]
    for name in required:
        if rows.column(name).null_count:
            yield LoadError(
                "null_required",
                f"{type_.name}.{name} is required and is null",
                type_name=type_.name,
                field=name,
            )


def _check_enum(
    type_: NodeType | EdgeType, name: str, column: pa.ChunkedArray, allowed: tuple[str, ...]
) -> Problems:
    known = pc.or_(pc.is_in(column, pa.array(allowed, pa.string())), pc.is_null(column))
    bad = _first(column, pc.invert(known))
    if bad is not None:
        yield violations.enum(type_.name, name, bad, allowed)


def _check_finite(type_: NodeType | EdgeType, name: str, column: pa.ChunkedArray) -> Problems:
    values = column
    while pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        values = pc.list_flatten(values)
    if _first(values, pc.invert(pc.is_finite(values))) is not None:
        yield LoadError(
            "value_range",
            f"{type_.name}.{name} holds NaN or an infinity",
            type_name=type_.name,
            field=name,
        )


def _check_range(
    type_name: str,
    name: str,
    column: pa.ChunkedArray,
    low: int | float | None,
    high: int | float | None,
) -> Problems:
    for bound, above in ((high, True), (low, False)):
        if bound is None:
            continue
        inside = _compare(column, bound, above)
        bad = _first(column, pc.invert(inside))
        if bad is not None:
            yield violations.out_of_range(type_name, name, bad, bound, above)


def _compare(column: pa.ChunkedArray, bound: int | float, above: bool) -> pa.ChunkedArray:
    """Whether values are on the right side of a bound, compared by value across widths."""
    operator = pc.less_equal if above else pc.greater_equal
    if pa.types.is_integer(column.type) and isinstance(bound, int):
        kind = pa.decimal128(38, 0) if not -(2**63) <= bound < 2**63 else pa.int64()
        if pa.types.is_uint64(column.type):
            kind = pa.decimal128(38, 0)
        return operator(column.cast(kind), pa.scalar(bound).cast(kind))
    return operator(column.cast(pa.float64()), pa.scalar(float(bound)))


def _first(column: pa.ChunkedArray, bad: pa.ChunkedArray) -> Any:  # noqa: ANN401
    """The first non-null value at which a mask is true."""
    if not pc.any(bad).as_py():
        return None
    hits = column.filter(pc.and_(pc.fill_null(bad, False), pc.is_valid(column)))
    return hits[0].as_py() if len(hits) else None
