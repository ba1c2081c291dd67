"""A graph as plain Python: what the oracle looks at, and nothing the engine is made of."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from omnigraph.schema import Catalog
from omnigraph.schema.model.property_types import PropertyType, Scalar
from omnigraph.storage.refs.snapshot import Snapshot

Record = dict[str, Any]
Properties = dict[str, Any]


@dataclass(frozen=True, eq=False)
class PlainEdge:
    id: str
    src: str
    dst: str
    values: Properties


@dataclass(frozen=True)
class PlainGraph:
    """Nodes by type and id; edges by type."""

    nodes: dict[str, dict[str, Properties]]
    edges: dict[str, list[PlainEdge]]


def plain_graph(catalog: Catalog, records: Iterable[Record]) -> PlainGraph:
    """The graph that loading these records makes. Only text keys, explicit ids otherwise."""
    graph = PlainGraph({n: {} for n in catalog.nodes}, {e: [] for e in catalog.edges})
    for number, record in enumerate(records):
        data = record.get("data", {})
        if "type" in record:
            node = catalog.node(record["type"])
            id_ = data[node.key.members[0]] if node.key else data["id"]
            graph.nodes[node.name][id_] = {
                p.name: plain_value(data.get(p.name), p.type) for p in node.properties
            }
        else:
            edge = catalog.edge(record["edge"])
            values = {p.name: plain_value(data.get(p.name), p.type) for p in edge.properties}
            id_ = data.get("id", f"~{number:06}")
            graph.edges[edge.name].append(PlainEdge(id_, record["from"], record["to"], values))
    return graph


def plain_snapshot(snapshot: Snapshot) -> PlainGraph:
    """The graph that a snapshot holds, scanned whole."""

    def rows(table_key: str) -> list[Properties]:
        found: list[Properties] = snapshot.scan(table_key).read_all().to_pylist()
        return found

    catalog = snapshot.catalog
    return PlainGraph(
        {name: {row["id"]: row for row in rows(f"node:{name}")} for name in catalog.nodes},
        {
            name: [
                PlainEdge(row["id"], row["src"], row["dst"], row) for row in rows(f"edge:{name}")
            ]
            for name in catalog.edges
        },
    )


def read_records(text: str) -> list[Record]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def plain_value(value: Any, type_: PropertyType) -> Any:  # noqa: ANN401
    """A JSON value as the value of a property."""
    if value is None:
        return None
    if type_.is_list or type_.is_vector:
        return [_scalar(item, type_.scalar) for item in value]
    return _scalar(value, type_.scalar)


def _scalar(value: Any, scalar: Scalar) -> Any:  # noqa: ANN401
    match scalar:
        case Scalar.F32:
            return struct.unpack("<f", struct.pack("<f", value))[0]
        case Scalar.F64:
            return float(value)
        case Scalar.DATE:
            return date.fromisoformat(value)
        case Scalar.DATETIME:
            return datetime.fromisoformat(value).astimezone(UTC)
        case _:
            return value
