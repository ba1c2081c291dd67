"""Rows given by a caller, in exactly the columns of a plain table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InvalidInput, did_you_mean

_AWAY = "half_towards_infinity"
"""SQL rounds 1.005 to 1.01 and -1.005 to -1.01."""

_PACKED = (
    pa.types.is_run_end_encoded,
    pa.types.is_dictionary,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_NESTED = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_struct,
)


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns of a schema, by name; what is missing is null."""
    for name in rows.schema.names:
        if name not in schema.names:
            raise InvalidInput(
                f"the table has no column {name!r}{did_you_mean(name, schema.names)}",
                hint=f"It has {', '.join(schema.names)}.",
            )
    columns = [
        cast_column(rows.column(target.name), target)
        if target.name in rows.schema.names
        else pa.chunked_array([pa.nulls(rows.num_rows, target.type)])
        for target in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def cast_column(column: pa.ChunkedArray, target: pa.Field) -> pa.ChunkedArray:
    """A column with the type of a field; values that do not fit are refused, never cut off."""
    if column.type == target.type:
        return column
    if column.null_count == len(column) > 0:
        # Nothing but nulls is of every type, whatever type they came with.
        return pa.chunked_array([pa.nulls(len(column), target.type)])
    try:
        return _cast(column, target.type)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            f"the values of {target.name!r} do not fit {target.type}: {error}",
            hint="Cast them where they come from.",
        ) from error


def _cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if _is_packed(column.type):
        return _cast(pa.chunked_array([_unpacked(each) for each in column.chunks]), target)
    # Arrow turns numbers into integers only when nothing is cut off; SQL rounds decimals.
    if pa.types.is_decimal(target) and pa.types.is_decimal(column.type):
        if column.type.scale > target.scale:
            column = pc.round(column, target.scale, _AWAY)
        return column.cast(target)
    if pa.types.is_decimal(target) and pa.types.is_floating(column.type):
        return pc.round(column, target.scale, _AWAY).cast(target, safe=False)
    if pa.types.is_decimal(target) and pa.types.is_integer(column.type):
        # Decided by the values, not by what the widest integer would need.
        return column.cast(pa.decimal256(76, target.scale)).cast(target)
    if pa.types.is_floating(target) and pa.types.is_decimal(column.type):
        # Arrow multiplies by a power of ten: 0.3 would become 0.30000000000000004.
        return column.cast(pa.string()).cast(target)
    return column.cast(target)


def _is_packed(kind: pa.DataType) -> bool:
    """Whether values are laid out, at some depth, in a way that Arrow does not cast from."""
    if any(is_packed(kind) for is_packed in _PACKED):
        return True
    members = (kind.field(n).type for n in range(kind.num_fields))
    return any(is_nested(kind) for is_nested in _NESTED) and any(map(_is_packed, members))


def _unpacked(values: pa.Array) -> pa.Array:
    """The same values as plain lists, structs and numbers."""
    kind = values.type
    if not _is_packed(kind):
        return values
    if pa.types.is_run_end_encoded(kind):
        return _unpacked(pc.run_end_decode(values))
    if pa.types.is_dictionary(kind):
        return _unpacked(values.dictionary_decode())
    if not pa.types.is_struct(kind):
        return _lists(values)
    members = [_unpacked(values.field(number)) for number in range(kind.num_fields)]
    fields = [
        pa.field(field.name, member.type, field.nullable)
        for field, member in zip(kind, members, strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=fields, mask=values.is_null())


def _lists(views: pa.Array) -> pa.Array:
    """Lists for views of them; not by a cast, which in pyarrow 26 gives too few offsets."""
    lengths = pc.list_value_length(views).fill_null(0).to_numpy()
    large = pa.types.is_large_list_view(views.type) or pa.types.is_large_list(views.type)
    kind, offset = (pa.LargeListArray, np.int64) if large else (pa.ListArray, np.int32)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(offset)
    return kind.from_arrays(offsets, _unpacked(views.flatten()), mask=views.is_null())
