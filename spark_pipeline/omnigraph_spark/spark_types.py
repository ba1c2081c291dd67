"""Arrow types and Spark types: conversions between them in both directions.

Spark has no unsigned numbers and no fixed-size lists: U32 becomes a long, U64 a decimal(20,0), a
vector an array of floats. Every value survives the round trip.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructField, StructType

UINT64_DECIMAL = pa.decimal128(20, 0)


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of an Arrow schema; everything may be null, as Spark reads files."""
    return StructType([StructField(f.name, spark_type(f.type), True) for f in schema])


def spark_type(type_: pa.DataType) -> DataType:
    """The Spark type that holds every value of an Arrow type."""
    return from_arrow_type(_signed(type_))


def _signed(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(type_):
        return UINT64_DECIMAL
    if pa.types.is_unsigned_integer(type_):
        return pa.int64() if type_.bit_width == 32 else pa.int32()
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return pa.list_(_signed(type_.value_type))
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", "UTC" if type_.tz else None)
    if pa.types.is_dictionary(type_):
        return _signed(type_.value_type)
    return type_


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema in which Spark expects rows of a Spark schema."""
    return to_arrow_schema(schema, timezone="UTC")


def for_spark(batches: Iterable[pa.RecordBatch], schema: StructType) -> Iterable[pa.RecordBatch]:
    """Batches in exactly the Arrow schema that Spark expects."""
    target = arrow_schema(schema)
    for batch in batches:
        arrays = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(batch.columns, target, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def from_spark(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterable[pa.RecordBatch]:
    """Batches of Spark, with decimals cast back to the unsigned numbers they stand for."""
    stored = {field.name: field.type for field in schema}
    for batch in batches:
        names = batch.schema.names
        arrays = [
            array.cast(_unsigned(array.type)) if _is_unsigned(stored.get(name)) else array
            for name, array in zip(names, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def _is_unsigned(type_: pa.DataType | None) -> bool:
    if type_ is not None and pa.types.is_list(type_):
        type_ = type_.value_type
    return type_ is not None and bool(pa.types.is_uint64(type_))


def _unsigned(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type_):
        return pa.list_(_unsigned(type_.value_type))
    return pa.uint64() if pa.types.is_decimal(type_) and type_.scale == 0 else type_
