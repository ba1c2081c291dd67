"""Tables as other packages read and write them: plain tables, readable tables, definitions.

A face: it re-exports what SQL needs of `omnigraph.storage`, and no Lance object.
"""

from omnigraph.storage.manifest.definitions import Definition, define
from omnigraph.storage.plain.conform_rows import cast_column, conformed
from omnigraph.storage.plain.plain_table import PlainTable, TableDeclaration, storable
from omnigraph.storage.tables.readable_table import ADDRESS, BATCH_ROWS, ReadableTable
from omnigraph.storage.tables.version_diff import stored_bytes

__all__ = [
    "ADDRESS",
    "BATCH_ROWS",
    "Definition",
    "PlainTable",
    "ReadableTable",
    "TableDeclaration",
    "cast_column",
    "conformed",
    "define",
    "storable",
    "stored_bytes",
]
