"""Random histories of a graph, and plain copies of every moment to compare the engine with.

A copy is taken while a moment is the present: per type identity, entities by id, values by property
identity. Two copies differ where Python's dictionaries do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st

import omnigraph
from omnigraph import Graph
from omnigraph.errors import MergeConflict
from omnigraph.schema import Catalog
from support.graphs import Row

SHIPS = """
node {ship} {{ name: String @key  {properties} }}
node Port {{ note: String? }}
edge Calls: {ship} -> Port {{ days: F64? }}
"""
NAMES = ["ada", "bly", "cap", "dot"]
PORTS = ["p1", "p2"]
PROPERTIES = ("crew", "flag", "tags")
TYPES = {"crew": "I32?", "flag": "String?", "tags": "[String]?"}

Values = dict[Any, Any]
"""One entity: values by property identity; endpoints under their own names."""


@dataclass(frozen=True)
class Copy:
    """Everything a moment showed, and the schema it had."""

    commit: str
    branch: str
    catalog: Catalog
    tables: Mapping[int, Mapping[str, Values]]


@dataclass
class Shape:
    """The schema of a branch: the name of the ship type, and its optional properties."""

    ship: str = "Ship"
    properties: dict[str, str] = field(default_factory=lambda: dict(TYPES))

    def source(self, hints: Mapping[str, str] | None = None) -> str:
        given = hints or {}

        def hint(name: str) -> str:
            return f' @rename_from("{given[name]}")' if name in given else ""

        properties = "  ".join(
            f"{name}: {type_}{hint(name)}" for name, type_ in self.properties.items()
        )
        return SHIPS.format(ship=self.ship + hint(self.ship), properties=properties).replace(
            f"Calls: {self.ship}{hint(self.ship)}", f"Calls: {self.ship}"
        )


class History:
    """A graph, and a copy of every moment it had."""

    def __init__(self, root: str) -> None:
        self.graph: Graph = omnigraph.init(root, Shape().source())
        self.shapes = {"main": Shape()}
        self.copies: list[Copy] = []
        self.remember("main")

    def remember(self, branch: str) -> None:
        """Copy the present of a branch."""
        catalog = self.graph.schema(branch).catalog
        snapshot = self.graph.snapshot(branch)
        tables = {}
        for type_ in catalog.types():
            names = {p.name: p.identity for p in type_.properties}
            rows: list[Row] = snapshot.scan(type_.table_key).read_all().to_pylist()
            tables[type_.identity] = {
                row["id"]: {names.get(k, k): v for k, v in row.items() if k != "id"} for row in rows
            }
        self.copies.append(Copy(snapshot.commit, branch, catalog, tables))

    def apply(self, step: tuple[Any, ...]) -> None:
        """Make one step of a history, and copy the moment after it."""
        what, branch, *rest = step
        if branch not in self.shapes:
            branch = "main"
        getattr(self, f"_{what}")(branch, *rest)
        self.remember(branch)

    def _write(self, branch: str, ships: list[Row], calls: list[Row]) -> None:
        shape = self.shapes[branch]
        kept = [
            {k: v for k, v in row.items() if k == "name" or k in shape.properties} for row in ships
        ]
        with self.graph.transaction(branch) as txn:
            txn.upsert("Port", [{"id": port, "note": port} for port in PORTS])
            if kept:
                txn.upsert(shape.ship, kept)
            present = {r["id"] for r in txn.scan(shape.ship, ["id"]).read_all().to_pylist()}
            wanted = [row for row in calls if row["src"] in present]
            if wanted:
                txn.upsert("Calls", wanted)

    def _delete(self, branch: str, ids: list[str]) -> None:
        with self.graph.transaction(branch) as txn:
            txn.delete(self.shapes[branch].ship, ids)

    def _optimize(self, branch: str) -> None:
        self.graph.optimize(branch)

    def _fork(self, branch: str) -> None:
        if "side" not in self.shapes:
            self.graph.create_branch("side", branch)
            old = self.shapes[branch]
            self.shapes["side"] = Shape(old.ship, dict(old.properties))

    def _merge(self, branch: str) -> None:
        if self.shapes.get("side") == self.shapes["main"]:
            with suppress(MergeConflict):
                self.graph.merge("side", on_conflict="theirs")

    def _drop(self, branch: str, name: str) -> None:
        shape = self.shapes[branch]
        shape.properties.pop(name, None)
        self.graph.apply_schema(shape.source(), branch=branch)

    def _add(self, branch: str, name: str) -> None:
        shape = self.shapes[branch]
        shape.properties.setdefault(name, TYPES[name])
        self.graph.apply_schema(shape.source(), branch=branch)

    def _rename(self, branch: str, old: str, new: str) -> None:
        shape = self.shapes[branch]
        if old not in shape.properties or new in shape.properties:
            return
        shape.properties = {new if k == old else k: v for k, v in shape.properties.items()}
        self.graph.apply_schema(shape.source({new: old}), branch=branch)

    def _retitle(self, branch: str, name: str) -> None:
        shape = self.shapes[branch]
        old, shape.ship = shape.ship, name
        self.graph.apply_schema(shape.source({name: old} if name != old else None), branch=branch)

    def _widen(self, branch: str) -> None:
        shape = self.shapes[branch]
        if shape.properties.get("crew") == "I32?":
            shape.properties["crew"] = "I64?"
            self.graph.apply_schema(shape.source(), branch=branch)


_branch = st.sampled_from(["main", "main", "side"])
_ship = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES)},
    optional={
        "crew": st.none() | st.integers(0, 2),
        "flag": st.sampled_from([None, "", "NL"]),
        "tags": st.none() | st.lists(st.sampled_from(["a", "b", ""]), max_size=2),
    },
)
_call = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c1", "c2", "c3"]),
        "src": st.sampled_from(NAMES),
        "dst": st.sampled_from(PORTS),
        "days": st.sampled_from([None, 0.0, -0.0, 1.5]),
    }
)
_ships = st.lists(_ship, max_size=3, unique_by=lambda row: str(row["name"]))
_calls = st.lists(_call, max_size=2, unique_by=lambda row: str(row["id"]))

writes = st.tuples(st.just("write"), _branch, _ships, _calls)
deletes = st.tuples(
    st.just("delete"), _branch, st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)
)
upkeep = st.tuples(st.just("optimize"), _branch)
forks = st.tuples(st.just("fork"), st.just("main"))
merges = st.tuples(st.just("merge"), st.just("main"))
schema_changes = st.one_of(
    st.tuples(st.sampled_from(["drop", "add"]), _branch, st.sampled_from(PROPERTIES)),
    st.tuples(st.just("rename"), _branch, st.just("flag"), st.sampled_from(["sign", "tags"])),
    st.tuples(st.just("retitle"), _branch, st.sampled_from(["Ship", "Vessel"])),
    st.tuples(st.just("widen"), _branch),
)
histories = st.lists(
    st.one_of(writes, writes, deletes, upkeep, forks, merges, schema_changes),
    min_size=2,
    max_size=9,
)
data_histories = st.lists(
    st.one_of(writes, writes, deletes, upkeep, forks, merges), min_size=2, max_size=7
)
