"""The rule of edges: both ends are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import concat_texts
from omnigraph.schema import EdgeType, NodeType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.hash_partitions import PARTITION_ROWS, part_of
from omnigraph.storage.constraints.table_view import TableView
from omnigraph.storage.core.table_version import PROBE_LIMIT


def endpoint_violations(state: FinalState, change: TableChange) -> Violations:
    """Both ends of every written edge must be there."""
    edge = change.type
    if not isinstance(edge, EdgeType):
        return
    ends = ends_of(edge)
    named = [partial(_written_values, change, end) for end, _ in ends]
    count = sum(write.buffer.rows for write in change.written)
    # Set membership runs without the interpreter's lock: the two ends are checked side by side.
    with ThreadPoolExecutor(2) as pool:
        absent = list(pool.map(partial(_absent, state, count), (n for _, n in ends), named))
    for (end, node_name), missing in zip(ends, absent, strict=True):
        if missing:
            view = state.table(edge.table_key)
            yield from dangling_edges(view, edge, end, node_name, missing)


def ends_of(edge: EdgeType) -> tuple[tuple[str, str], tuple[str, str]]:
    """The columns of an edge's ends, and the node types that they name."""
    return ("src", edge.src), ("dst", edge.dst)


def ends_at(edge: EdgeType, node_name: str) -> list[str]:
    """The columns of an edge that name nodes of a type."""
    return [end for end, name in ends_of(edge) if name == node_name]


def _written_values(change: TableChange, column: str) -> Iterator[pa.ChunkedArray]:
    for write in change.written:
        for rows in write.buffer.scan([column]):
            yield rows.column(column)


def _absent(
    state: FinalState,
    count: int,
    node_name: str,
    named: Callable[[], Iterator[pa.ChunkedArray]],
) -> list[str]:
    """Ids among the `count` named that a node type does not hold, in order; in bounded memory."""
    if count <= PROBE_LIMIT:
        return missing_nodes(state, node_name, concat_texts(named()).unique())
    view = state.table(f"node:{node_name}")
    missing: set[str] = set()
    parts = -(-max(view.rows, 1) // PARTITION_ROWS)
    for part in range(parts):
        present = concat_texts(part_of(c.column("id"), part, parts) for c in view.scan(["id"]))
        for several in _gathered(named()):
            ids = part_of(several, part, parts)
            known = pc.is_in(ids, present)
            if not pc.all(known).as_py():
                missing.update(ids.filter(pc.invert(known)).unique().to_pylist())
    return sorted(missing)


def _gathered(columns: Iterable[pa.ChunkedArray]) -> Iterator[pa.ChunkedArray]:
    """Columns put together: looking ids up in few large pieces builds the set of ids seldom."""
    waiting: list[pa.Array] = []
    for column in columns:
        waiting += column.chunks
        if sum(map(len, waiting)) >= PARTITION_ROWS:
            yield pa.chunked_array(waiting, pa.string())
            waiting = []
    if waiting:
        yield pa.chunked_array(waiting, pa.string())


def missing_nodes(state: FinalState, node_name: str, ids: pa.StringArray) -> list[str]:
    """Those of the ids that the node type does not hold, in order."""
    absent = pc.invert(pc.is_in(ids, _present(state.table(f"node:{node_name}"), ids)))
    return sorted(ids.filter(absent).to_pylist())


def _present(view: TableView, ids: pa.StringArray) -> pa.Array | pa.ChunkedArray:
    """A set of ids that contains those of the given ones that the table holds."""
    if not view.rows or not len(ids):
        return pa.array([], pa.string())
    if len(ids) <= PROBE_LIMIT:
        return view.present_ids(ids)
    return concat_texts(chunk.column("id") for chunk in view.scan(["id"]))


def dangling_edges(
    view: TableView, edge: EdgeType, end: str, node_name: str, missing: Sequence[str]
) -> Violations:
    """The edges of the final state that name missing nodes."""
    for start in range(0, len(missing), PROBE_LIMIT):
        several = pa.array(missing[start : start + PROBE_LIMIT], pa.string())
        found = [
            rows.filter(pc.is_in(rows.column(end), several))
            for rows in view.scan(["id", end], (end, several))
        ]
        if not found:
            continue
        ordered = pa.concat_tables(found).sort_by([(end, "ascending"), ("id", "ascending")])
        for row in ordered.to_pylist():
            yield violations.endpoint(edge.name, end, row["id"], row[end], node_name)


def reference_violations(state: FinalState, change: TableChange) -> Violations:
    """No remaining edge may name a node that was deleted."""
    node = change.type
    if not isinstance(node, NodeType) or not (change.replaced or len(change.removed)):
        return
    for edge in state.catalog.edges_touching(node.name):
        view = state.table(edge.table_key)
        if not view.rows:
            continue
        for end in ends_at(edge, node.name):
            removed = None if change.replaced else change.removed.unique()
            missing = missing_nodes(state, node.name, all_values(view, end, removed))
            yield from dangling_edges(view, edge, end, node.name, missing)


def all_values(view: TableView, column: str, among: pa.StringArray | None = None) -> pa.StringArray:
    """The values of a column, each once: all, or those that are among some."""
    found = view.scan([column], None if among is None else (column, among))
    values = concat_texts(chunk.column(column).unique() for chunk in found).unique()
    return values if among is None else values.filter(pc.is_in(values, among))
