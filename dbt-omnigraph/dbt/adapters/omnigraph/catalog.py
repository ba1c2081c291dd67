"""One relation of the catalog, from the rows of the catalog query: one per column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata

if TYPE_CHECKING:
    import agate


def catalog_table(rows: agate.Table) -> CatalogTable | None:
    """The relation that the rows describe; none if there are no rows."""
    if len(rows) == 0:
        return None
    first = rows[0]
    metadata = TableMetadata(
        type=first["table_type"],
        schema=first["table_schema"],
        name=first["table_name"],
        database=first["table_database"],
        comment=first["table_comment"],
        owner=first["table_owner"],
    )
    columns = {
        row["column_name"]: ColumnMetadata(
            type=row["column_type"],
            index=int(row["column_index"]),
            name=row["column_name"],
            comment=row["column_comment"],
        )
        for row in rows
    }
    return CatalogTable(metadata=metadata, columns=columns, stats={})
