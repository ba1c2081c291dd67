"""Deleted nodes take their edges with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import EdgeType
from omnigraph.storage.constraints.endpoints import ends_at
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.transaction.operations import DeleteRows, Operation
from omnigraph.storage.transaction.stage_rows import StagedTable, delete_rows


def permanently_deleted(
    tables: TableStore, node: StagedTable, removals: Sequence[pa.StringArray]
) -> pa.StringArray:
    """The ids among those removed that the node's final version does not hold again."""
    deleted = pa.concat_arrays(removals).unique()
    put_back = tables.locate(node.version, deleted).ids
    return deleted.filter(pc.invert(pc.is_in(deleted, put_back)))


def cascade(
    tables: TableStore,
    state: StagedTable,
    edge: EdgeType,
    node: str,
    deleted: pa.StringArray,
    operations: Sequence[Operation],
) -> StagedTable:
    """An edge table without the edges at nodes of a type that were deleted.

    Edges that the transaction writes itself are not deleted silently: they name a node that is
    not there, which validation refuses.
    """
    written = _written_ids(operations)
    for end in ends_at(edge, node):
        if len(deleted) <= PROBE_LIMIT:
            version = ready_for_probes(tables, state.version, edge, end)
            state = replace(state, version=version)
        edges = _edges_at(tables, state.version, end, deleted)
        edges = edges.filter(pc.invert(pc.is_in(edges.column("id"), written)))
        ids = edges.column("id").combine_chunks()
        state = delete_rows(tables, state, ids, edges.column("_rowaddr").to_numpy())
    return state


def _written_ids(operations: Sequence[Operation]) -> pa.StringArray:
    ids = [
        rows.column("id").combine_chunks()
        for operation in operations
        if not isinstance(operation, DeleteRows)
        for rows in operation.buffer.scan(["id"])
    ]
    return pa.concat_arrays([pa.array([], pa.string()), *ids])


def _edges_at(
    tables: TableStore, version: TableVersion, end: str, nodes: pa.StringArray
) -> pa.Table:
    if len(nodes) <= PROBE_LIMIT:
        return tables.matching(version, end, nodes, ["id"])
    rows = tables.read(version, columns=["id", end], addresses=True)
    return rows.filter(pc.is_in(rows.column(end), nodes))
