"""What every reader yields: rows of one type, converted and with their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.ulid import new_ulids
from omnigraph.schema import EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.entity_ids import derive_ids

EntityType: TypeAlias = NodeType | EdgeType


@dataclass(frozen=True)
class TypedBatch:
    """Rows of one type in the schema of its table.

    `generated_ids` says that every id was made just now, so nobody needs to look for duplicates.
    """

    type: EntityType
    batch: pa.RecordBatch
    generated_ids: bool


class IdMismatch(ValueError):
    """A given id is not the one its key derives; `row` counts from 0 in the batch."""

    def __init__(self, row: int, given: str, derived: str) -> None:
        self.row = row
        super().__init__(f"the id {given!r} does not match the id of its key, {derived!r}")


def ids_for(
    type_: EntityType, given_ids: pa.Array | None, columns: Mapping[str, Any], rows: int
) -> tuple[pa.Array, bool]:
    """The ids of a batch and whether all are fresh. Null or no `given_ids` means: not given."""
    if isinstance(type_, NodeType) and type_.key is not None:
        derived = derive_ids(type_, columns)
        if given_ids is not None:
            different = pc.index(pc.not_equal(given_ids, derived), True).as_py()
            if different >= 0:
                raise IdMismatch(
                    different, given_ids[different].as_py(), derived[different].as_py()
                )
        return derived, False
    if given_ids is None or given_ids.null_count == rows:
        return new_ulids(rows), True
    if given_ids.null_count == 0:
        return given_ids, False
    fresh = new_ulids(given_ids.null_count)
    return pc.replace_with_mask(given_ids, given_ids.is_null(), fresh), False


def typed_batch(
    type_: EntityType,
    given_ids: pa.Array | None,
    ends: Iterable[pa.Array],
    columns: Mapping[str, pa.Array],
    rows: int,
) -> TypedBatch:
    """The batch of given ids, the ends of edges and the columns of properties; `IdMismatch`."""
    ids, generated = ids_for(type_, given_ids, columns, rows)
    arrays = [ids, *ends, *columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, schema=table_schema(type_))
    return TypedBatch(type_, batch, generated)


def row_width(schema: pa.Schema) -> int:
    """The bytes that a row of nulls and empty values takes."""
    return sum(_width(field.type) for field in schema)


def _width(type_: pa.DataType) -> int:
    if pa.types.is_fixed_size_list(type_):
        return int(type_.list_size) * _width(type_.value_type)
    try:
        return max(1, int(type_.bit_width) // 8)
    except ValueError:  # variable width: what its offsets take
        return 8 if pa.types.is_large_binary(type_) else 4
