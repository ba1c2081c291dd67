"""Types as SQL declares them, as Arrow has them, and as the casts of DataFusion call them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput

T = exp.DataType.Type

_SIMPLE = {
    T[name]: type_
    for type_, names in (
        (pa.bool_(), "BOOLEAN BIT"),
        (pa.int8(), "TINYINT"),
        (pa.int16(), "SMALLINT SMALLSERIAL"),
        (pa.int32(), "INT MEDIUMINT SERIAL YEAR"),
        (pa.int64(), "BIGINT BIGSERIAL"),
        (pa.uint8(), "UTINYINT"),
        (pa.uint16(), "USMALLINT"),
        (pa.uint32(), "UINT UMEDIUMINT"),
        (pa.uint64(), "UBIGINT"),
        (pa.decimal128(38, 0), "INT128"),
        (pa.decimal128(19, 4), "MONEY"),
        (pa.decimal128(10, 4), "SMALLMONEY"),
        (pa.float32(), "FLOAT"),
        (pa.float64(), "DOUBLE UDOUBLE"),
        (pa.string(), "CHAR NCHAR VARCHAR NVARCHAR BPCHAR TEXT TINYTEXT MEDIUMTEXT LONGTEXT"),
        (pa.string(), "NAME UUID JSON JSONB ENUM VARIANT XML NULL"),
        (pa.binary(), "BINARY VARBINARY BLOB TINYBLOB MEDIUMBLOB LONGBLOB IMAGE"),
        (pa.date32(), "DATE DATE32"),
        (pa.timestamp("s"), "TIMESTAMP_S SMALLDATETIME"),
        (pa.timestamp("ms"), "TIMESTAMP_MS"),
        (pa.timestamp("ns"), "TIMESTAMP_NS"),
        (pa.month_day_nano_interval(), "INTERVAL"),
    )
    for name in names.split()
}
_TIMESTAMPS = {T.TIMESTAMP, T.TIMESTAMPNTZ, T.DATETIME, T.DATETIME2, T.DATETIME64}
_INSTANTS = {T.TIMESTAMPTZ, T.TIMESTAMPLTZ}
_DECIMALS = {T.DECIMAL, T.UDECIMAL, T.BIGDECIMAL}
UNIT_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""How many digits behind the second each unit of time has."""
_UNIT_NAMES = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}


def is_text(type_: pa.DataType) -> bool:
    """Whether values are strings."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def arrow_type(declared: exp.DataType) -> pa.DataType:
    """The Arrow type of a declared SQL type."""
    kind = declared.this
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind in _TIMESTAMPS:
        return pa.timestamp(_unit(declared))
    if kind in _INSTANTS:
        return pa.timestamp(_unit(declared), "UTC")
    if kind in (T.TIME, T.TIMETZ):
        unit = _unit(declared)
        return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)
    if kind in _DECIMALS:
        return _decimal(_numbers(declared), T.BIGDECIMAL is kind)
    if kind in (T.ARRAY, T.LIST):
        items = declared.expressions
        item = arrow_type(items[0]) if items else pa.string()
        size = declared.args.get("values")
        return pa.list_(item, int(size[0].name) if size else -1)
    if kind in (T.STRUCT, T.OBJECT):
        return pa.struct([(m.name, arrow_type(m.args["kind"])) for m in _members(declared)])
    if kind is T.MAP and len(declared.expressions) == 2:
        key, value = declared.expressions
        return pa.map_(arrow_type(key), arrow_type(value))
    raise InvalidInput(
        f"the type {declared.sql()} is not supported",
        hint="Use a number, text, boolean, date, time, timestamp, binary, array or struct type.",
    )


def _members(declared: exp.DataType) -> list[exp.ColumnDef]:
    members = [m for m in declared.expressions if isinstance(m, exp.ColumnDef)]
    if not members or len(members) != len(declared.expressions):
        raise InvalidInput(
            f"{declared.sql()} names no members", hint="Write STRUCT(a INT, b TEXT)."
        )
    return members


def _numbers(declared: exp.DataType) -> list[int]:
    return [int(e.name) for e in declared.expressions if e.name.isdigit()]


def _unit(declared: exp.DataType) -> str:
    """The unit that holds a precision: seconds for 0, microseconds where none is said."""
    digits = (_numbers(declared) or [6])[0]
    return next((unit for unit, most in UNIT_DIGITS.items() if digits <= most), "ns")


def _decimal(numbers: list[int], wide: bool) -> pa.DataType:
    precision, scale = (numbers + [0])[:2] if numbers else (76, 38) if wide else (38, 10)
    if precision > 76 or scale > precision or precision < 1:
        raise InvalidInput(
            f"DECIMAL({precision}, {scale}) is not supported", hint="Use at most 76 digits."
        )
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


# --------------------------------------------------------------------------- names of types

_NAMES: dict[pa.DataType, tuple[str, str, str | None]] = {
    pa.bool_(): ("BOOLEAN", "Boolean", "BOOLEAN"),
    pa.int8(): ("TINYINT", "Int8", "TINYINT"),
    pa.int16(): ("SMALLINT", "Int16", "SMALLINT"),
    pa.int32(): ("INTEGER", "Int32", "INT"),
    pa.int64(): ("BIGINT", "Int64", "BIGINT"),
    pa.uint8(): ("UTINYINT", "UInt8", None),
    pa.uint16(): ("USMALLINT", "UInt16", None),
    pa.uint32(): ("UINTEGER", "UInt32", None),
    pa.uint64(): ("UBIGINT", "UInt64", None),
    pa.float16(): ("REAL", "Float16", None),
    pa.float32(): ("REAL", "Float32", "FLOAT"),
    pa.float64(): ("DOUBLE", "Float64", "DOUBLE"),
    pa.string(): ("VARCHAR", "Utf8", "VARCHAR"),
    pa.large_string(): ("VARCHAR", "LargeUtf8", None),
    pa.binary(): ("BLOB", "Binary", "BYTEA"),
    pa.large_binary(): ("BLOB", "LargeBinary", None),
    pa.date32(): ("DATE", "Date32", "DATE"),
    pa.date64(): ("DATE", "Date64", None),
    pa.month_day_nano_interval(): ("INTERVAL", "Interval(MonthDayNano)", None),
}
"""The names of a type in SQL, in DataFusion's `arrow_cast`, and in its CAST if that has one."""


def cast_name(type_: pa.DataType) -> str | None:
    """How DataFusion's CAST calls a type; none where only `arrow_cast` knows it."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if type_ == pa.timestamp("us"):
        return "TIMESTAMP(6)"
    return _NAMES[type_][2] if type_ in _NAMES else None


def arrow_name(type_: pa.DataType) -> str:
    """How DataFusion's `arrow_cast` calls a type."""
    if type_ in _NAMES:
        return _NAMES[type_][1]
    if pa.types.is_timestamp(type_):
        zone = "None" if type_.tz is None else f'Some("{type_.tz}")'
        return f"Timestamp({_UNIT_NAMES[type_.unit]}, {zone})"
    if pa.types.is_time(type_):
        return f"Time{type_.bit_width}({_UNIT_NAMES[type_.unit]})"
    if pa.types.is_duration(type_):
        return f"Duration({_UNIT_NAMES[type_.unit]})"
    if pa.types.is_decimal(type_):
        return f"Decimal{type_.bit_width}({type_.precision}, {type_.scale})"
    if pa.types.is_fixed_size_list(type_):
        return f"FixedSizeList({type_.list_size}, {arrow_name(type_.value_type)})"
    if pa.types.is_list(type_):
        return f"List({arrow_name(type_.value_type)})"
    if pa.types.is_struct(type_):
        members = (f'"{f.name}": {arrow_name(f.type)}' for f in type_)
        return f"Struct({', '.join(members)})"
    raise InvalidInput(f"a cast to {type_} is not supported", hint="Cast to a simpler type.")


def sql_name(type_: pa.DataType) -> str:
    """A type as people read it, and as it can be declared again."""
    if type_ in _NAMES:
        return _NAMES[type_][0]
    if type_ == pa.null():
        return "VARCHAR"
    if pa.types.is_timestamp(type_):
        name = "TIMESTAMP" if type_.tz is None else "TIMESTAMPTZ"
        return name if type_.unit == "us" else f"{name}({UNIT_DIGITS[type_.unit]})"
    if pa.types.is_time(type_):
        return "TIME" if type_.unit == "us" else f"TIME({UNIT_DIGITS[type_.unit]})"
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if pa.types.is_fixed_size_list(type_):
        return f"{sql_name(type_.value_type)}[{type_.list_size}]"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"{sql_name(type_.value_type)}[]"
    if pa.types.is_struct(type_):
        return f"STRUCT({', '.join(f'{f.name} {sql_name(f.type)}' for f in type_)})"
    if pa.types.is_map(type_):
        return f"MAP({sql_name(type_.key_type)}, {sql_name(type_.item_type)})"
    return str(type_).upper()
