"""Tables as other packages read and write them: plain tables, predicates, definitions.

A face: it re-exports what SQL and Spark need of `omnigraph.storage`, and no Lance object.
"""

from omnigraph.common.arrow_alignment import align
from omnigraph.common.stream_dataset import StreamDataset, streamed
from omnigraph.storage.core.lance_filter import (
    NO_ROW,
    AllOf,
    AnyOf,
    ColumnCompare,
    ColumnContains,
    ColumnIn,
    ColumnIsNull,
    ColumnStartsWith,
    CompareOperator,
    Negated,
    NotExpressible,
    Predicate,
    lance_filter,
    text_literal,
)
from omnigraph.storage.manifest.definitions import Definition, define
from omnigraph.storage.plain.conform_rows import cast_column, conformed
from omnigraph.storage.plain.plain_table import PlainTable, TableDeclaration, storable
from omnigraph.storage.tables.readable_table import ADDRESS, BATCH_ROWS, ReadableTable
from omnigraph.storage.tables.version_diff import stored_bytes

__all__ = [
    "ADDRESS",
    "AllOf",
    "AnyOf",
    "BATCH_ROWS",
    "ColumnCompare",
    "ColumnContains",
    "ColumnIn",
    "ColumnIsNull",
    "ColumnStartsWith",
    "CompareOperator",
    "Definition",
    "NO_ROW",
    "Negated",
    "NotExpressible",
    "PlainTable",
    "Predicate",
    "ReadableTable",
    "StreamDataset",
    "TableDeclaration",
    "align",
    "cast_column",
    "conformed",
    "define",
    "lance_filter",
    "storable",
    "stored_bytes",
    "streamed",
    "text_literal",
]
