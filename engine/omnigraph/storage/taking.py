"""Take rows of another branch over into a table, in one new version."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.schema.catalog import GraphType
from omnigraph.storage.addresses import NO_ADDRESSES
from omnigraph.storage.buffers import RowBuffer
from omnigraph.storage.failpoints import AFTER_TABLE, failpoint
from omnigraph.storage.indexes import ready_for_probes
from omnigraph.storage.reading import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables import Tables


def take_over(
    tables: Tables,
    base: TableVersion,
    type_: GraphType,
    arriving: RowBuffer,
    removed: pa.StringArray,
) -> TableVersion:
    """The version after: rows that arrive replace those of the same id, others are taken out.

    Ids among the arriving rows are distinct; none of them is removed.
    """
    arriving.finish()
    if not arriving.rows and not len(removed):
        return base
    if arriving.rows + len(removed) <= PROBE_LIMIT:
        base = ready_for_probes(tables, base, type_)
    gone = tables.locate(base, removed).addresses if len(removed) else NO_ADDRESSES
    for rows in arriving.scan(["id"]):
        found = tables.locate(base, rows.column("id").combine_chunks())
        gone = np.union1d(gone, found.addresses)
    if arriving.spilled:
        version = tables.next(base, fragments=arriving.fragments, gone=gone)
    else:
        version = tables.next(base, rows=arriving.table(), gone=gone)
    failpoint(AFTER_TABLE)
    return version
