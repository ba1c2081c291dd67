"""Columns and types: the SQL names of Arrow types, as contracts use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from dbt.adapters.base import Column

_NAMES: tuple[tuple[pa.DataType, str], ...] = (
    (pa.bool_(), "boolean"),
    (pa.int8(), "tinyint"),
    (pa.int16(), "smallint"),
    (pa.int32(), "integer"),
    (pa.int64(), "bigint"),
    (pa.uint8(), "tinyint unsigned"),
    (pa.uint16(), "smallint unsigned"),
    (pa.uint32(), "integer unsigned"),
    (pa.uint64(), "bigint unsigned"),
    (pa.float32(), "real"),
    (pa.float64(), "double precision"),
    (pa.string(), "text"),
    (pa.large_string(), "text"),
    (pa.binary(), "bytea"),
    (pa.large_binary(), "bytea"),
    (pa.date32(), "date"),
)


def sql_type(arrow: pa.DataType) -> str:
    """The SQL name of an Arrow type."""
    for known, name in _NAMES:
        if arrow == known:
            return name
    if pa.types.is_timestamp(arrow):
        return "timestamp with time zone" if arrow.tz else "timestamp"
    if pa.types.is_time(arrow):
        return "time"
    if pa.types.is_decimal(arrow):
        return f"numeric({arrow.precision},{arrow.scale})"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return f"{sql_type(arrow.value_type)}[]"
    return str(arrow)


@dataclass
class OmniGraphColumn(Column):
    """A column; text has no length, so no column ever needs to be widened."""

    TYPE_LABELS: ClassVar[dict[str, str]] = {
        "STRING": "TEXT",
        "VARCHAR": "TEXT",
        "CHARACTER VARYING": "TEXT",
        "INT": "INTEGER",
        "INT4": "INTEGER",
        "INT8": "BIGINT",
        "FLOAT": "DOUBLE PRECISION",
        "FLOAT8": "DOUBLE PRECISION",
        "DOUBLE": "DOUBLE PRECISION",
        "BOOL": "BOOLEAN",
        "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
        "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
    }

    @property
    def data_type(self) -> str:
        return "text" if self.is_string() else self.dtype

    def is_string(self) -> bool:
        return self.dtype.lower() in ("text", "string", "varchar", "character varying", "character")

    def is_float(self) -> bool:
        return self.dtype.lower() in ("real", "float", "double", "double precision")

    def is_integer(self) -> bool:
        return self.dtype.lower().removesuffix(" unsigned") in (
            "tinyint",
            "smallint",
            "integer",
            "bigint",
        )

    def is_numeric(self) -> bool:
        return bool(self.dtype.lower().startswith(("numeric", "decimal")))

    def string_size(self) -> int:
        return 256

    def can_expand_to(self, other_column: Column) -> bool:
        return False
