"""Apply the changeset of another branch to a table, in one new version."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.failpoints import AFTER_TABLE, failpoint
from omnigraph.storage.core.row_addresses import Addresses, distinct
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.write_buffer import RowBuffer


@dataclass(frozen=True, slots=True)
class RowsToDelete:
    """Rows that leave a table: some are known by their address, others by their (distinct) ids."""

    addresses: Addresses
    ids: pa.StringArray


def apply_changeset(
    tables: TableStore,
    base: TableVersion,
    type_: GraphType,
    arriving: RowBuffer,
    leaving: RowsToDelete,
) -> TableVersion:
    """The version after: some rows arrive and some leave, among them all that are replaced."""
    arriving.finish()
    if not arriving.rows and not len(leaving.addresses) and not len(leaving.ids):
        return base
    deleted = leaving.addresses
    if len(leaving.ids):
        if len(leaving.ids) <= PROBE_LIMIT:
            base = ready_for_probes(tables, base, type_)
        deleted = distinct(deleted, tables.locate(base, leaving.ids).addresses)
    if arriving.spilled:
        version = tables.next(base, files=arriving.files, deleted=deleted)
    else:
        version = tables.next(base, rows=arriving.table(), deleted=deleted)
    failpoint(AFTER_TABLE)
    return version
