"""Seeds: from the table that dbt has read from a CSV file to Arrow, by column."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import agate

_TEXT = frozenset({"text", "varchar"})


def arrow_table(table: agate.Table, types: Mapping[str, str]) -> pa.Table:
    """The rows as Arrow; text columns take any value in dbt's spelling of it."""
    lowered = {name.lower(): kind.lower() for name, kind in types.items()}
    columns = {
        name: _column(list(column.values()), lowered.get(name.lower(), "text"))
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def _column(values: list[object], kind: str) -> pa.Array:
    if kind in _TEXT:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    if any(isinstance(value, Decimal) for value in values):
        # Not by a cast of decimals, which is off by the last bit.
        numbers = [None if v is None else float(cast(Decimal, v)) for v in values]
        return pa.array(numbers, pa.float64())
    array = pa.array(values)
    if kind == "date" and pa.types.is_string(array.type):
        return pc.cast(pc.cast(array, pa.timestamp("us")), pa.date32())
    return array
