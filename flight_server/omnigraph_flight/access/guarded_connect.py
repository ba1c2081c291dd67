"""Connections that may access only what policies permit."""

from __future__ import annotations

import omnigraph_sql
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.access.policies import Policies, Resource
from omnigraph_flight.access.session_settings import Settings
from omnigraph_sql import AccessRequest


class GuardedConnections:
    """Connects to graphs: every connection asks the policies before each access."""

    def __init__(self, graphs: Graphs, policies: Policies) -> None:
        self.graphs = graphs
        self._policies = policies

    def connect(self, caller: Caller, settings: Settings) -> omnigraph_sql.Connection:
        """A new connection of the SQL facade, for one caller."""
        self._policies.require(caller, "connect", Resource(settings.graph))
        connection = omnigraph_sql.connect(
            self.graphs.graph(settings.graph),
            branch=settings.catalog,
            schema=settings.schema,
            dialect=settings.dialect,
            user=caller.name,
        )

        def guard(access: AccessRequest) -> None:
            resource = Resource(settings.graph, access.branch, access.schema, access.name)
            self._policies.require(caller, access.action, resource)

        connection.guard = guard
        return connection
