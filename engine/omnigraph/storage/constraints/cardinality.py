"""The rule `@card`: how many edges a node may and must have."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema import EdgeType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.endpoints import (
    missing_nodes,
)
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.table_view import TableView


def cardinality_violations(image: FinalState, change: TableChange) -> Violations:
    """Count the edges of every source whose edges the write touched."""
    edge = change.type
    if not isinstance(edge, EdgeType) or edge.cardinality.is_free:
        return
    sources = [change.touched]
    for write in change.written:
        sources += [c for rows in write.buffer.scan(["src"]) for c in rows.column("src").chunks]
    touched = pa.chunked_array(sources, pa.string()).unique()
    if not len(touched):
        return
    view = image.table(edge.table_key)
    yield from too_many(view, edge, touched)
    if edge.cardinality.min:
        yield from too_few(image, view, edge, touched)


def too_many(view: TableView, edge: EdgeType, sources: pa.StringArray) -> Violations:
    """Those of the sources that have more edges than they may."""
    high = edge.cardinality.max
    if high is None:
        return
    counts = _counts(view, sources)
    over = counts.filter(pc.greater(counts.column("count"), high))
    for row in over.sort_by("src").to_pylist():
        yield violations.cardinality(edge.name, row["src"], row["count"], high, above=True)


def too_few(
    image: FinalState, view: TableView, edge: EdgeType, sources: pa.StringArray
) -> Violations:
    """Those of the sources that are there and have fewer edges than they must."""
    low = edge.cardinality.min
    counts = _counts(view, sources)
    enough = counts.filter(pc.greater_equal(counts.column("count"), low)).column("src")
    few = sources.filter(pc.invert(pc.is_in(sources, enough)))
    if not len(few):
        return
    gone = pa.array(missing_nodes(image, edge.src, few), pa.string())
    few = few.filter(pc.invert(pc.is_in(few, gone)))
    left = dict(zip(*(counts.column(name).to_pylist() for name in ("src", "count")), strict=True))
    for source in sorted(few.to_pylist()):
        count = left.get(source, 0)
        yield violations.cardinality(edge.name, source, count, low, above=False)


def _counts(view: TableView, sources: pa.StringArray) -> pa.Table:
    """How many edges each of the sources has; those with none are left out."""
    parts = [chunk.column("src") for chunk in view.scan(["src"], ("src", sources))]
    column = pa.chunked_array([c for part in parts for c in part.chunks], pa.string())
    counts = column.filter(pc.is_in(column, sources)).value_counts()
    return pa.table({"src": counts.field("values"), "count": counts.field("counts")})
