"""The SQL types there are (GetXdbcTypeInfo), as ODBC and JDBC describe types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("type_name", pa.string(), nullable=False),
        pa.field("data_type", pa.int32(), nullable=False),
        pa.field("column_size", pa.int32()),
        pa.field("literal_prefix", pa.string()),
        pa.field("literal_suffix", pa.string()),
        pa.field("create_params", pa.list_(pa.field("item", pa.string(), nullable=False))),
        pa.field("nullable", pa.int32(), nullable=False),
        pa.field("case_sensitive", pa.bool_(), nullable=False),
        pa.field("searchable", pa.int32(), nullable=False),
        pa.field("unsigned_attribute", pa.bool_()),
        pa.field("fixed_prec_scale", pa.bool_(), nullable=False),
        pa.field("auto_increment", pa.bool_()),
        pa.field("local_type_name", pa.string()),
        pa.field("minimum_scale", pa.int32()),
        pa.field("maximum_scale", pa.int32()),
        pa.field("sql_data_type", pa.int32(), nullable=False),
        pa.field("datetime_subcode", pa.int32()),
        pa.field("num_prec_radix", pa.int32()),
        pa.field("interval_precision", pa.int32()),
    ]
)

_NULLABLE, _ANY_OPERATOR, _ANY_BUT_LIKE = 1, 3, 2
_DATETIME = 9


def _type(name: str, code: int, size: int | None, **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    row: dict[str, Any] = {
        "type_name": name,
        "data_type": code,
        "column_size": size,
        "nullable": _NULLABLE,
        "case_sensitive": False,
        "searchable": _ANY_BUT_LIKE,
        "fixed_prec_scale": False,
        "local_type_name": name,
        "sql_data_type": code,
    }
    return row | facts


def _number(name: str, code: int, size: int, *, unsigned: bool = False) -> dict[str, Any]:
    return _type(
        name,
        code,
        size,
        unsigned_attribute=unsigned,
        auto_increment=False,
        minimum_scale=0,
        maximum_scale=0,
        num_prec_radix=10,
    )


def _float(name: str, code: int, bits: int) -> dict[str, Any]:
    return _type(name, code, bits, unsigned_attribute=False, auto_increment=False, num_prec_radix=2)


def _quoted(name: str, code: int, size: int | None, **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    return _type(name, code, size, literal_prefix="'", literal_suffix="'", **facts)


_TYPES = (
    _type("BOOLEAN", -7, 1),
    _number("TINYINT", -6, 3),
    _number("SMALLINT", 5, 5),
    _number("INTEGER", 4, 10),
    _number("BIGINT", -5, 19),
    _number("UINTEGER", 4, 10, unsigned=True),
    _number("UBIGINT", -5, 20, unsigned=True),
    _float("REAL", 7, 24),
    _float("DOUBLE", 8, 53),
    _type(
        "DECIMAL",
        3,
        38,
        create_params=["precision", "scale"],
        unsigned_attribute=False,
        auto_increment=False,
        minimum_scale=0,
        maximum_scale=38,
        num_prec_radix=10,
    ),
    _quoted(
        "VARCHAR", 12, None, create_params=["length"], case_sensitive=True, searchable=_ANY_OPERATOR
    ),
    _quoted(
        "CHAR", 1, None, create_params=["length"], case_sensitive=True, searchable=_ANY_OPERATOR
    ),
    _type("VARBINARY", -3, None, literal_prefix="x'", literal_suffix="'"),
    _quoted("DATE", 91, 10, sql_data_type=_DATETIME, datetime_subcode=1),
    _quoted("TIME", 92, 18, sql_data_type=_DATETIME, datetime_subcode=2),
    _quoted(
        "TIMESTAMP",
        93,
        29,
        create_params=["precision"],
        sql_data_type=_DATETIME,
        datetime_subcode=3,
    ),
)


def type_info(data_type: int | None = None) -> pa.Table:
    """The types with this code, or all, by code and name."""
    rows = [row for row in _TYPES if data_type is None or row["data_type"] == data_type]
    rows.sort(key=lambda row: (row["data_type"], row["type_name"]))
    return pa.Table.from_pylist(rows, SCHEMA)
