"""Nodes that go take their edges with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import Catalog, EdgeType
from omnigraph.storage.constraints.endpoints import ends_at
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.transaction.operations import DeleteRows, Operation
from omnigraph.storage.transaction.stage_rows import StagedTable, remove_rows


def permanently_deleted(
    tables: TableStore, node: StagedTable, removals: Sequence[pa.StringArray]
) -> pa.StringArray:
    """The ids among those removed that the node's final version does not hold again."""
    gone = pa.concat_arrays(removals).unique()
    put_back = tables.locate(node.version, gone).ids
    return gone.filter(pc.invert(pc.is_in(gone, put_back)))


def cascade(
    tables: TableStore,
    catalog: Catalog,
    node: str,
    gone: pa.StringArray,
    staged: Callable[[str], StagedTable],
    operations: Callable[[str], Sequence[Operation]],
) -> list[StagedTable]:
    """The edge tables of a node type without the edges at nodes that are gone."""
    return [
        _without_edges(
            tables,
            staged(edge.table_key),
            edge,
            node,
            gone,
            _written_ids(operations(edge.table_key)),
        )
        for edge in catalog.edges_touching(node)
    ]


def _without_edges(
    tables: TableStore,
    state: StagedTable,
    edge: EdgeType,
    node: str,
    gone: pa.StringArray,
    own: pa.StringArray,
) -> StagedTable:
    """Edges that the transaction writes itself are not taken out silently: they name a node that
    is gone, which validation refuses."""
    for end in ends_at(edge, node):
        if len(gone) <= PROBE_LIMIT:
            version = ready_for_probes(tables, state.version, edge, end)
            state = replace(state, version=version)
        found = _edges_at(tables, state.version, end, gone)
        found = found.filter(pc.invert(pc.is_in(found.column("id"), own)))
        ids = found.column("id").combine_chunks()
        state = remove_rows(tables, state, ids, found.column("_rowaddr").to_numpy())
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
