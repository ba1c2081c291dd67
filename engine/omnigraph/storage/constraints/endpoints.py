"""The rule of edges: both ends are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import text_array
from omnigraph.schema import EdgeType, NodeType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.hash_partitions import PARTITION_ROWS, batches_of, part_of
from omnigraph.storage.constraints.table_view import TableView
from omnigraph.storage.core.table_version import PROBE_LIMIT


def endpoint_violations(image: FinalState, change: TableChange) -> Violations:
    """Both ends of every written edge must be there."""
    edge = change.type
    if not isinstance(edge, EdgeType):
        return
    ends = (("src", edge.src), ("dst", edge.dst))
    named = [partial(_written_values, change, end) for end, _ in ends]
    count = sum(write.buffer.rows for write in change.written)
    # Set membership runs without the interpreter's lock: the two ends are checked side by side.
    with ThreadPoolExecutor(2) as pool:
        absent = list(pool.map(partial(_absent, image, count), (n for _, n in ends), named))
    for (end, node_name), missing in zip(ends, absent, strict=True):
        if missing:
            view = image.table(edge.table_key)
            yield from dangling_edges(view, edge, end, node_name, missing)


def _written_values(change: TableChange, column: str) -> Iterator[pa.ChunkedArray]:
    for write in change.written:
        for rows in write.buffer.scan([column]):
            yield rows.column(column)


def _absent(
    image: FinalState,
    count: int,
    node_name: str,
    named: Callable[[], Iterator[pa.ChunkedArray]],
) -> list[str]:
    """Ids among the `count` named that a node type does not hold, in order; in bounded memory."""
    if count <= PROBE_LIMIT:
        ids = pa.chunked_array([c for column in named() for c in column.chunks], pa.string())
        return missing_nodes(image, node_name, ids.unique())
    view = image.table(f"node:{node_name}")
    missing: set[str] = set()
    parts = -(-max(view.rows, 1) // PARTITION_ROWS)
    for part in range(parts):
        held = text_array(part_of(chunk.column("id"), part, parts) for chunk in view.scan(["id"]))
        for several in _gathered(named()):
            ids = part_of(several, part, parts)
            known = pc.is_in(ids, held)
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


def missing_nodes(image: FinalState, node_name: str, ids: pa.StringArray) -> list[str]:
    """Those of the ids that the node type does not hold, in order."""
    absent = pc.invert(pc.is_in(ids, _held(image.table(f"node:{node_name}"), ids)))
    return sorted(ids.filter(absent).to_pylist())


def _held(view: TableView, ids: pa.StringArray) -> pa.Array | pa.ChunkedArray:
    """A set of ids that contains those of the given ones that the table holds."""
    if not view.rows or not len(ids):
        return pa.array([], pa.string())
    if len(ids) <= PROBE_LIMIT:
        return view.present_ids(ids)
    held = [chunk.column("id") for chunk in view.scan(["id"])]
    return pa.chunked_array([c for column in held for c in column.chunks], pa.string())


def dangling_edges(
    view: TableView, edge: EdgeType, end: str, node_name: str, missing: Sequence[str]
) -> Violations:
    """The edges of the final image at nodes that are not there."""
    for several in batches_of(pa.array(missing, pa.string()), PROBE_LIMIT):
        found = [
            rows.filter(pc.is_in(rows.column(end), several))
            for rows in view.scan(["id", end], (end, several))
        ]
        if not found:
            continue
        ordered = pa.concat_tables(found).sort_by([(end, "ascending"), ("id", "ascending")])
        for row in ordered.to_pylist():
            yield violations.endpoint(edge.name, end, row["id"], row[end], node_name)


def reference_violations(image: FinalState, change: TableChange) -> Violations:
    """No surviving edge may name a node that is gone."""
    node = change.type
    if not isinstance(node, NodeType) or not (change.replaced or len(change.removed)):
        return
    for edge in image.catalog.edges_touching(node.name):
        view = image.table(edge.table_key)
        if not view.rows:
            continue
        for end in (e for e, name in (("src", edge.src), ("dst", edge.dst)) if name == node.name):
            named = (
                all_values(view, end)
                if change.replaced
                else _values_among(view, end, change.removed.unique())
            )
            missing = missing_nodes(image, node.name, named)
            yield from dangling_edges(view, edge, end, node.name, missing)


def all_values(view: TableView, column: str) -> pa.StringArray:
    parts = [chunk.column(column).unique() for chunk in view.scan([column])]
    return pa.chunked_array(parts, pa.string()).unique()


def _values_among(view: TableView, column: str, values: pa.StringArray) -> pa.StringArray:
    parts = [chunk.column(column).unique() for chunk in view.scan([column], (column, values))]
    present = pa.chunked_array(parts, pa.string()).unique()
    return present.filter(pc.is_in(present, values))
