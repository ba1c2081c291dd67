"""Predicates as the filter text that Lance reads."""

from __future__ import annotations

import pyarrow as pa


def in_condition(column: str, values: pa.Array) -> str:
    """A filter for rows whose text column has one of the values."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values.to_pylist())
    return f"{column} IN ({quoted})"


SMALLEST_WRITTEN = -(2**63) + 1
"""The filter language reads a minus sign and then a number, which must fit 63 bits."""
