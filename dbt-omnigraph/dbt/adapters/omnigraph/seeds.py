"""Seeds: from the table that dbt has read from a CSV file to Arrow, by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import agate


def arrow_table(table: agate.Table, types: Mapping[str, str]) -> pa.Table:
    """The rows as Arrow; text columns take any value in dbt's spelling of it."""
    lowered = {name.lower(): kind for name, kind in types.items()}
    columns = {
        name: _column(list(column.values()), lowered.get(name.lower(), "text"))
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def _column(values: list[object], kind: str) -> pa.Array:
    if kind == "text":
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    array = pa.array(values)
    # Numbers of a CSV file come as decimals; the server casts them to the column's own type.
    return pc.cast(array, pa.float64()) if pa.types.is_decimal(array.type) else array
