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
    required = [f.name for f in rows.schema if f.name in ("id", "src", "dst")]
    for name in (*required, *(p.name for p in type_.properties if not p.nullable)):
        if rows.column(name).null_count:
            yield _load_error("null_required", type_.name, name, "is required and is null")
    for prop in type_.properties:
        column = rows.column(prop.name)
        if prop.type.kind == "enum":
            bad = _first_failing(column, pc.is_in(column, pa.array(prop.type.values, pa.string())))
            if bad is not None:
                yield violations.enum(type_.name, prop.name, bad, prop.type.values)
        elif prop.type.scalar in (Scalar.F32, Scalar.F64) and not _all_finite(column):
            yield _load_error("value_range", type_.name, prop.name, "holds NaN or an infinity")
    for rule in type_.ranges:
        column = rows.column(rule.prop)
        for bound, above in ((rule.hi, True), (rule.lo, False)):
            if bound is None:
                continue
            bad = _first_failing(column, _within(column, bound, above))
            if bad is not None:
                yield violations.out_of_range(type_.name, rule.prop, bad, bound, above)
    for check in type_.checks:
        column = rows.column(check.prop)
        bad = _first_failing(column, pattern_matches(column, check.pattern))
        if bad is not None:
            yield violations.check(type_.name, check.prop, bad, check.pattern)


def _load_error(reason: str, type_name: str, field: str, problem: str) -> LoadError:
    text = f"{type_name}.{field} {problem}"
    return LoadError(reason, text, type_name=type_name, field=field)


def _all_finite(column: pa.ChunkedArray) -> bool:
    values = column
    while pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        values = pc.list_flatten(values)
    return bool(pc.all(pc.is_finite(values), min_count=0).as_py())


def _within(column: pa.ChunkedArray, bound: int | float, above: bool) -> pa.ChunkedArray:
    """Whether values are on the right side of a bound, compared by value across widths."""
    operator = pc.less_equal if above else pc.greater_equal
    if pa.types.is_integer(column.type) and isinstance(bound, int):
        kind = pa.decimal128(38, 0) if not -(2**63) <= bound < 2**63 else pa.int64()
        if pa.types.is_uint64(column.type):
            kind = pa.decimal128(38, 0)
        return operator(column.cast(kind), pa.scalar(bound).cast(kind))
    return operator(column.cast(pa.float64()), pa.scalar(float(bound)))


def _first_failing(column: pa.ChunkedArray, passes: pa.ChunkedArray) -> Any:  # noqa: ANN401
    """The first value that fails a test; null fails none."""
    if pc.all(passes, min_count=0).as_py():
        return None
    failing = column.filter(pc.and_(pc.invert(pc.fill_null(passes, True)), pc.is_valid(column)))
    return failing[0].as_py() if len(failing) else None
