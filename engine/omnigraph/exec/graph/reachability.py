"""What can be reached from some nodes along one edge type, and in how many steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.exec.columns.arrays import AnyArray
from omnigraph.exec.graph.adjacency import EdgeDirection
from omnigraph.exec.graph.bindings import CHUNK
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.graph.traversal import Pairs
from omnigraph.schema.model.catalog import EdgeType

ReachDirection = Literal["out", "in", "both"]

REACH_SCHEMA = pa.schema(
    [
        pa.field("seed", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("depth", pa.int32(), nullable=False),
    ]
)
SEEDS_AT_ONCE = 4096
_DIRECTIONS: dict[ReachDirection, EdgeDirection] = {
    "out": "forward",
    "in": "reverse",
    "both": "undirected",
}


def reach(
    view: GraphView,
    edge_name: str,
    node_name: str,
    seeds: Sequence[str] | None,
    low: int,
    high: int,
    direction: ReachDirection | None = None,
) -> Iterator[pa.RecordBatch]:
    """Rows (seed, id, depth) of the nodes whose distance from a seed lies in [low, high].

    Without seeds, from every node of the type. A seed is at no distance from itself: it is not in
    the result, unless `low` is 0.
    """
    edge = view.snapshot.catalog.edge(edge_name)
    start = view.snapshot.catalog.node(node_name).name
    followed = _followed(edge, start, direction, high)
    if not 0 <= low <= high:
        raise InvalidInput(f"{low} to {high} is not a range of steps", hint="Give 0 <= min <= max.")
    origin = view.nodes(start)
    handles = origin.all() if seeds is None else origin.find(seeds)
    end = view.nodes(edge.dst if followed == "forward" else edge.src)
    neighbours = view.neighbours(edge.name, followed, bag=False)
    for index in range(0, len(handles), SEEDS_AT_ONCE):
        sources = handles[index : index + SEEDS_AT_ONCE]
        owner: AnyArray = np.arange(len(sources), dtype=np.int64)
        node: AnyArray = sources
        seen = Pairs()
        if edge.src == edge.dst:  # else the seeds are nodes of another type
            seen.first(owner, node)
        for depth in range(high + 1):
            if depth >= low:
                for part in range(0, len(node), CHUNK):
                    some = slice(part, part + CHUNK)
                    yield pa.RecordBatch.from_arrays(
                        [
                            origin.ids(sources[owner[some]]),
                            (origin if depth == 0 else end).ids(node[some]),
                            pa.repeat(pa.scalar(depth, pa.int32()), len(node[some])),
                        ],
                        schema=REACH_SCHEMA,
                    )
            if depth == high or not len(node):
                break
            node, counts = neighbours.expand(node)
            owner = np.repeat(owner, counts)
            once = seen.first(owner, node)
            owner, node = owner[once], node[once]


def _followed(
    edge: EdgeType, start: str, direction: ReachDirection | None, high: int
) -> EdgeDirection:
    """How edges are followed: as requested, else from the end that the type is at."""
    if edge.src == edge.dst == start:
        if direction is not None and direction not in _DIRECTIONS:
            raise InvalidInput(f"{direction!r} is not a direction", hint="Use out, in or both.")
        return _DIRECTIONS[direction or "out"]
    if start not in (edge.src, edge.dst):
        raise InvalidInput(
            f"{edge.name} leads from {edge.src} to {edge.dst}, not from or to {start}",
            hint="Start at one of its ends.",
        )
    if high > 1:
        raise InvalidInput(
            f"{edge.name} leads from {edge.src} to {edge.dst}: there is no second step",
            hint="Use max => 1.",
        )
    return "forward" if start == edge.src else "reverse"
