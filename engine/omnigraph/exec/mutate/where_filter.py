"""`where property operator value` as a filter on the table."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.exec.mutate.statement_values import StatementValues
from omnigraph.query.logical.logical_plan import Where
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import EdgeType, NodeType
from omnigraph.schema.model.entity_ids import ids_of_keys
from omnigraph.storage.core.lance_filter import NO_ROW, ColumnCompare, in_condition, lance_filter


def where_condition(type_: NodeType | EdgeType, where: Where, values: StatementValues) -> str:
    """The filter; `NO_ROW` when no row can match. Null never matches anything."""
    value = values.of(where.value)
    column = where.end or where.property
    fixes_key = type_.key is not None and type_.key.members == (column,) and where.operator == "="
    if fixes_key and isinstance(type_, NodeType) and value is not None:
        # Ids are indexed, and a key of one member says what the id is.
        ids = ids_of_keys(type_, [value])
        return in_condition("id", pa.array(ids, pa.string())) if ids else NO_ROW
    return lance_filter(ColumnCompare(column, where.operator, value), table_schema(type_))
