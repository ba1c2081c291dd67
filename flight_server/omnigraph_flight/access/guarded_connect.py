"""Connections that may touch only what policies permit."""

from __future__ import annotations

import omnigraph_sql
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.access.policies import Policies, Resource
from omnigraph_flight.access.session_settings import Settings
from omnigraph_sql import AccessRequest


class GuardedConnections:
    """The way to the graphs: every connection asks the policies before it touches anything."""

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

        def guard(touch: AccessRequest) -> None:
            resource = Resource(settings.graph, touch.branch, touch.schema, touch.name)
            self._policies.require(caller, touch.action, resource)

        connection.guard = guard
        return connection
