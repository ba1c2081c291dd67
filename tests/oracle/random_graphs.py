"""Random schemas and the graphs that fill them, small enough to be tried exhaustively."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from oracle.plain import Record

VALUES: dict[str, Sequence[Any]] = {
    "String": ["", "a", "ab", "b", "é", "a%", "Zz"],
    "I32": [-1, 0, 1, 2, 2**31 - 1],
    "I64": [-1, 0, 1, 2, 2**53 + 1, -(2**63)],
    "U32": [0, 1, 2, 2**32 - 1],
    "U64": [0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1],
    "F64": [-1.5, 0.0, 1.0, 2.0, 2.5, 1e300],
    "F32": [-1.5, 0.0, 1.0, 2.5],
    "Bool": [False, True],
    "Date": ["1969-12-31", "2024-02-29", "2024-03-01"],
    "DateTime": ["1969-12-31T23:59:59.999999Z", "2024-02-29T00:00:00Z", "2024-02-29T00:00:01Z"],
    "enum(x, y, z)": ["x", "y", "z"],
    "[String]": [[], ["a"], ["a", "b", "a"], [""]],
    "[I64]": [[], [1], [1, 2], [2**53 + 1]],
    "[U64]": [[], [1], [2**53 + 1, 2**64 - 1]],
    "[F32]": [[], [2.5, 1.0], [-1.5]],
    "[Bool]": [[], [True], [True, False]],
    "[Date]": [[], ["2024-02-29"], ["1969-12-31", "2024-03-01"]],
    "[DateTime]": [[], ["2024-02-29T00:00:00Z", "1969-12-31T23:59:59.999999Z"]],
    "text": ["red kite", "kite festival", "marsh birds", "red marsh red marsh", "the", ""],
    "Vector(2)": [[0, 0], [1, 0], [2, 0], [0, 3], [-1, -1]],
}
"""Few values of each type, so that comparisons come out both ways."""

PROPERTIES = {
    "s": "String",
    "r": "String",
    "i": "I32",
    "n": "I64",
    "u": "U32",
    "v": "U64",
    "f": "F64",
    "g": "F32",
    "b": "Bool",
    "d": "Date",
    "t": "DateTime",
    "e": "enum(x, y, z)",
    "l": "[String]",
    "m": "[I64]",
    "mu": "[U64]",
    "mf": "[F32]",
    "mb": "[Bool]",
    "md": "[Date]",
    "mt": "[DateTime]",
}
EDGE_PROPERTIES = {
    "w": "I32",
    "h": "String",
    "q": "F64",
    "k": "enum(x, y, z)",
    "x": "U64",
    "y": "DateTime",
    "z": "[String]",
}


@dataclass(frozen=True)
class RandomProperty:
    name: str
    type: str
    nullable: bool

    def declaration(self) -> str:
        written = "String" if self.type == "text" else self.type
        return f"{self.name}: {written}{'?' if self.nullable else ''}"


@dataclass(frozen=True)
class RandomType:
    """A node type, or an edge type when it has ends. A keyed node has its id in `key`."""

    name: str
    properties: tuple[RandomProperty, ...]
    keyed: bool = False
    src: str = ""
    dst: str = ""

    def declaration(self) -> str:
        key = ["key: String @key"] if self.keyed else []
        body = "  ".join([*key, *(p.declaration() for p in self.properties)])
        if self.src:
            return f"edge {self.name}: {self.src} -> {self.dst} {{ {body} }}"
        return f"node {self.name} {{ {body} }}"

    @property
    def readable(self) -> tuple[RandomProperty, ...]:
        key = (RandomProperty("key", "String", False),) if self.keyed else ()
        return (*key, *self.properties)


@dataclass(frozen=True)
class RandomGraph:
    nodes: tuple[RandomType, ...]
    edges: tuple[RandomType, ...]
    records: tuple[Record, ...]

    @property
    def schema(self) -> str:
        return "\n".join(type_.declaration() for type_ in (*self.nodes, *self.edges))

    def type_named(self, name: str) -> RandomType:
        return next(type_ for type_ in (*self.nodes, *self.edges) if type_.name == name)


@st.composite
def graphs(draw: st.DrawFn, *, searchable: bool = False) -> RandomGraph:
    """A schema of 2 to 4 node types and as many edge types, and data for it."""
    nodes = [
        draw(node_types(f"N{n}", searchable=searchable and n == 0))
        for n in range(draw(st.integers(2, 4)))
    ]
    edges = [
        draw(edge_types(f"E{n}", nodes, is_loop=n == 0)) for n in range(draw(st.integers(2, 4)))
    ]
    ids = {
        t.name: [f"{t.name.lower()}_{n}" for n in range(draw(st.sampled_from([0, 2, 3, 4, 5])))]
        for t in nodes
    }
    records = [draw(node_records(type_, id_)) for type_ in nodes for id_ in ids[type_.name]]
    for type_ in edges:
        if ids[type_.src] and ids[type_.dst]:
            count = draw(st.sampled_from([0, 2, 4, 6, 8, 10]))
            records += [draw(edge_records(type_, ids, f"{type_.name}_{n}")) for n in range(count)]
    return RandomGraph(tuple(nodes), tuple(edges), tuple(records))


@st.composite
def node_types(draw: st.DrawFn, name: str, *, searchable: bool) -> RandomType:
    found = draw(_properties(PROPERTIES))
    if searchable:
        found += (
            RandomProperty("body", "text", draw(st.booleans())),
            RandomProperty("vec", "Vector(2)", draw(st.booleans())),
        )
    return RandomType(name, found, keyed=draw(st.booleans()))


@st.composite
def edge_types(
    draw: st.DrawFn, name: str, nodes: Sequence[RandomType], *, is_loop: bool
) -> RandomType:
    src = draw(st.sampled_from(nodes)).name
    others = [node.name for node in nodes if node.name != src]
    dst = src if is_loop else draw(st.sampled_from([*others, *others, src]))
    return RandomType(name, draw(_properties(EDGE_PROPERTIES)), src=src, dst=dst)


@st.composite
def _properties(draw: st.DrawFn, pool: dict[str, str]) -> tuple[RandomProperty, ...]:
    names = draw(st.lists(st.sampled_from(sorted(pool)), min_size=1, max_size=5, unique=True))
    return tuple(RandomProperty(n, pool[n], draw(st.booleans())) for n in sorted(names))


@st.composite
def node_records(draw: st.DrawFn, type_: RandomType, id_: str) -> Record:
    named = {"key": id_} if type_.keyed else {"id": id_}
    return {"type": type_.name, "data": {**named, **draw(_data(type_))}}


@st.composite
def edge_records(draw: st.DrawFn, type_: RandomType, ids: dict[str, list[str]], id_: str) -> Record:
    ends = {
        "from": draw(st.sampled_from(ids[type_.src])),
        "to": draw(st.sampled_from(ids[type_.dst])),
    }
    return {"edge": type_.name, **ends, "data": {"id": id_, **draw(_data(type_))}}


@st.composite
def _data(draw: st.DrawFn, type_: RandomType) -> dict[str, Any]:
    data = {}
    for prop in type_.properties:
        if not (prop.nullable and draw(st.integers(0, 2)) == 0):
            data[prop.name] = draw(st.sampled_from(VALUES[prop.type]))
    return data
