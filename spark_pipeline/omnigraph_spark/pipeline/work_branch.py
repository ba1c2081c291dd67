"""What a pipeline does with branches, in the storage of a graph or through a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph import Graph
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.pipeline.pipeline_model import Check
from omnigraph_spark.server_connection import ask, connected, quoted, text_literal

KEPT = "7d"
"""How long the branch of a run stays that was killed: a collection takes it then."""
OWNER = "pipeline"


class Branches(Protocol):
    """The branches of one graph."""

    def create(self, name: str, source: str) -> None:
        """Make the branch of a run."""

    def answer(self, name: str, check: Check) -> pa.Table:
        """What a check asks, as the branch has it."""

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:
        """Merge a branch and drop it, in one publish: its commit, if anything changed."""

    def drop(self, name: str) -> None:
        """Give the branch of a run up."""


def branches_of(place: GraphLocation) -> Branches:
    """The branches of the graph at a place."""
    return ServedBranches(place) if place.served else StoredBranches(place.graph())


@dataclass(frozen=True)
class StoredBranches:
    """Branches of a graph whose storage is at hand."""

    graph: Graph

    def create(self, name: str, source: str) -> None:
        self.graph.create_branch(name, source, ttl=KEPT, owner=OWNER)

    def answer(self, name: str, check: Check) -> pa.Table:
        return self.graph.query(check.gq, params=dict(check.params), at=name).to_arrow()

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:
        merged = self.graph.merge(name, into, delete_source=True, actor=actor, message=message)
        return merged.commit.id if merged.commit is not None else None

    def drop(self, name: str) -> None:
        self.graph.delete_branch(name)


@dataclass(frozen=True)
class ServedBranches:
    """Branches of a graph behind a server, which takes the caller for the actor."""

    place: GraphLocation

    def create(self, name: str, source: str) -> None:
        made = f"CREATE BRANCH {quoted(name)} FROM {quoted(source)}"
        options = f"ttl = {text_literal(KEPT)}, owner = {text_literal(OWNER)}"
        self._run(source, f"{made} WITH ({options})")

    def answer(self, name: str, check: Check) -> pa.Table:
        asked = ", ".join(map(text_literal, (check.gq, json.dumps(dict(check.params)))))
        return ask(self.place, name, f"SELECT * FROM gq({asked})")

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:  # noqa: ARG002
        named = f"SELECT commit_id FROM system.branches WHERE name = {text_literal(name)}"
        (head,) = ask(self.place, into, named).column(0).to_pylist()
        merge = f"MERGE BRANCH {quoted(name)} INTO {quoted(into)} DROP SOURCE"
        self._run(into, f"{merge} WITH MESSAGE {text_literal(message)}")
        merged = f"SELECT commit_id FROM system.commits WHERE merged_parent_id = '{head}'"
        found: list[str] = ask(self.place, into, merged).column(0).to_pylist()
        return found[0] if found else None

    def drop(self, name: str) -> None:
        self._run("main", f"DROP BRANCH {quoted(name)}")

    def _run(self, catalog: str, sql: str) -> None:
        with connected(self.place, catalog) as server, server.cursor() as cursor:
            cursor.execute(sql)
