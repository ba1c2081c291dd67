"""The rule `@card`: how many edges a node may and must have."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import concat_texts
from omnigraph.schema import EdgeType
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.endpoints import missing_nodes
from omnigraph.storage.constraints.final_state import FinalState, TableChange, Violations
from omnigraph.storage.constraints.table_view import TableView


def cardinality_violations(state: FinalState, change: TableChange) -> Violations:
    """Count the edges of every source whose edges the write touched."""
    edge = change.type
    if not isinstance(edge, EdgeType) or edge.cardinality.is_free:
        return
    written = (rows.column("src") for w in change.written for rows in w.buffer.scan(["src"]))
    touched = concat_texts([change.touched, *written]).unique()
    if not len(touched):
        return
    view = state.table(edge.table_key)
    yield from too_many(view, edge, touched)
    if edge.cardinality.min:
        yield from too_few(state, view, edge, touched)


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
    state: FinalState, view: TableView, edge: EdgeType, sources: pa.StringArray
) -> Violations:
    """Those of the sources that are there and have fewer edges than they must."""
    low = edge.cardinality.min
    counts = _counts(view, sources)
    enough = pc.greater_equal(counts.column("count"), low)
    few = sources.filter(pc.invert(pc.is_in(sources, counts.column("src").filter(enough))))
    if not len(few):
        return
    absent = set(missing_nodes(state, edge.src, few))
    few_counts = counts.filter(pc.invert(enough)).to_pylist()
    remaining = {row["src"]: row["count"] for row in few_counts}
    for source in sorted(set(few.to_pylist()) - absent):
        count = remaining.get(source, 0)
        yield violations.cardinality(edge.name, source, count, low, above=False)


def _counts(view: TableView, sources: pa.StringArray) -> pa.Table:
    """How many edges each of the sources has; those with none are left out."""
    column = concat_texts(chunk.column("src") for chunk in view.scan(["src"], ("src", sources)))
    counts = column.filter(pc.is_in(column, sources)).value_counts()
    return pa.table({"src": counts.field("values"), "count": counts.field("counts")})
