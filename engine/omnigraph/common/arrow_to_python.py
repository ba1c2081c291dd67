"""Arrow columns as Python values, also where Python's calendar ends (years 1 to 9999).

A Date or DateTime beyond it comes as the number that is stored, of days or of microseconds: it is
the other way to write one in a load.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]
    return values


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, by column name."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _value(scalar: pa.Scalar) -> Any:  # noqa: ANN401
    if isinstance(scalar, pa.ListScalar) and scalar.is_valid:
        return [_value(element) for element in scalar]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return scalar.value
