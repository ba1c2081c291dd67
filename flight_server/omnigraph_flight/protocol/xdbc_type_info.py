"""The SQL types there are (GetXdbcTypeInfo), as ODBC and JDBC describe types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph_flight.protocol.arrow_fields import flat_schema

SCHEMA = flat_schema(
    "type_name: utf8!, data_type: int32!, column_size: int32, literal_prefix: utf8, "
    "literal_suffix: utf8, create_params: utf8[], nullable: int32!, case_sensitive: bool!, "
    "searchable: int32!, unsigned_attribute: bool, fixed_prec_scale: bool!, auto_increment: bool, "
    "local_type_name: utf8, minimum_scale: int32, maximum_scale: int32, sql_data_type: int32!, "
    "datetime_subcode: int32, num_prec_radix: int32, interval_precision: int32"
)

_NULLABLE, _ANY_OPERATOR, _ANY_BUT_LIKE = 1, 3, 2
_DATETIME, _FIRST_DATETIME = 9, 90


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


def _number(
    name: str, code: int, size: int, scale: int = 0, *, unsigned: bool = False
) -> dict[str, Any]:
    return _type(
        name,
        code,
        size,
        create_params=["precision", "scale"] if scale else None,
        unsigned_attribute=unsigned,
        auto_increment=False,
        minimum_scale=0,
        maximum_scale=scale,
        num_prec_radix=10,
    )


def _float(name: str, code: int, bits: int) -> dict[str, Any]:
    return _type(name, code, bits, unsigned_attribute=False, auto_increment=False, num_prec_radix=2)


def _text(name: str, code: int) -> dict[str, Any]:
    facts = {"create_params": ["length"], "case_sensitive": True, "searchable": _ANY_OPERATOR}
    return _quoted(name, code, None, **facts)


def _temporal(name: str, code: int, size: int, **facts: Any) -> dict[str, Any]:  # noqa: ANN401
    subcode = code - _FIRST_DATETIME
    return _quoted(name, code, size, sql_data_type=_DATETIME, datetime_subcode=subcode, **facts)


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
    _number("DECIMAL", 3, 38, scale=38),
    _text("VARCHAR", 12),
    _text("CHAR", 1),
    _type("VARBINARY", -3, None, literal_prefix="x'", literal_suffix="'"),
    _temporal("DATE", 91, 10),
    _temporal("TIME", 92, 18),
    _temporal("TIMESTAMP", 93, 29, create_params=["precision"]),
)


def type_info(data_type: int | None = None) -> pa.Table:
    """The types with this code, or all, by code and name."""
    rows = [row for row in _TYPES if data_type is None or row["data_type"] == data_type]
    rows.sort(key=lambda row: (row["data_type"], row["type_name"]))
    return pa.Table.from_pylist(rows, SCHEMA)
