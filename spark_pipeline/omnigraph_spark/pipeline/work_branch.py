"""The work branch of a pipeline, in the storage of a graph or through a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph import Graph
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.pipeline.pipeline_model import Check
from omnigraph_spark.server_connection import connected, fetch_table, quoted, text_literal

BRANCH_TTL = "7d"
"""How long the branch of a run lives that was killed; collection deletes it then."""
OWNER = "pipeline"


class WorkBranches(Protocol):
    """Work branches of one graph."""

    def create(self, name: str, source: str) -> None:
        """Create the branch of a run."""

    def answer(self, name: str, check: Check) -> pa.Table:
        """The answer to a check on the branch."""

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:
        """Merge a branch and drop it, in one publish: its commit, if anything changed."""

    def drop(self, name: str) -> None:
        """Drop the branch of a run."""


def work_branches_of(location: GraphLocation) -> WorkBranches:
    """Work branches of the graph at a location."""
    return ServerBranches(location) if location.is_server else StorageBranches(location.graph())


@dataclass(frozen=True)
class StorageBranches:
    """Branches of a graph whose storage can be reached."""

    graph: Graph

    def create(self, name: str, source: str) -> None:
        self.graph.create_branch(name, source, ttl=BRANCH_TTL, owner=OWNER)

    def answer(self, name: str, check: Check) -> pa.Table:
        return self.graph.query(check.gq, params=dict(check.params), at=name).to_arrow()

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:
        merged = self.graph.merge(name, into, delete_source=True, actor=actor, message=message)
        return merged.commit.id if merged.commit is not None else None

    def drop(self, name: str) -> None:
        self.graph.delete_branch(name)


@dataclass(frozen=True)
class ServerBranches:
    """Branches of a graph behind a server, for which the user who calls is the actor."""

    location: GraphLocation

    def create(self, name: str, source: str) -> None:
        create = f"CREATE BRANCH {quoted(name)} FROM {quoted(source)}"
        options = f"ttl = {text_literal(BRANCH_TTL)}, owner = {text_literal(OWNER)}"
        self._run(source, f"{create} WITH ({options})")

    def answer(self, name: str, check: Check) -> pa.Table:
        arguments = ", ".join(map(text_literal, (check.gq, json.dumps(dict(check.params)))))
        return fetch_table(self.location, name, f"SELECT * FROM gq({arguments})")

    def publish(self, name: str, into: str, message: str, actor: str | None) -> str | None:  # noqa: ARG002
        head_sql = f"SELECT commit_id FROM system.branches WHERE name = {text_literal(name)}"
        (head,) = fetch_table(self.location, into, head_sql).column(0).to_pylist()
        merge = f"MERGE BRANCH {quoted(name)} INTO {quoted(into)} DROP SOURCE"
        self._run(into, f"{merge} WITH MESSAGE {text_literal(message)}")
        merged = f"SELECT commit_id FROM system.commits WHERE merged_parent_id = '{head}'"
        commits: list[str] = fetch_table(self.location, into, merged).column(0).to_pylist()
        return commits[0] if commits else None

    def drop(self, name: str) -> None:
        self._run("main", f"DROP BRANCH {quoted(name)}")

    def _run(self, catalog: str, sql: str) -> None:
        with connected(self.location, catalog) as server, server.cursor() as cursor:
            cursor.execute(sql)
