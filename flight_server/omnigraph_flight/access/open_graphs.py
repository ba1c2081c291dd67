"""The graphs of one server, by name, each opened at its first use; they stay open."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import omnigraph
from omnigraph import Graph
from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph_flight.access.result_store import FOLDER, ResultStore
from omnigraph_sql import configure


class Graphs:
    """Opens graphs. The lock protects those that are open."""

    def __init__(
        self, uris: Mapping[str, str], memory: int | None = None, durability: str | None = None
    ) -> None:
        if not uris:
            raise InvalidInput("no graph is given", hint="Name one: `omnigraph serve graph.omni`.")
        self._uris = dict(uris)
        self._memory = memory
        """Bytes of the queries of one graph before they spill to disk."""
        self._durability = durability
        self._lock = threading.Lock()
        self._open: dict[str, Graph] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._uris)

    @property
    def default(self) -> str:
        """The graph of a client that names none: the first."""
        return next(iter(self._uris))

    def graph(self, name: str) -> Graph:
        opened = self._open.get(name)
        if opened is not None:
            return opened
        uri = self._uris.get(name)
        if uri is None:
            raise NotFound(
                f"there is no graph {name!r} here{did_you_mean(name, self.names)}",
                hint=f"This server has {', '.join(self.names)}.",
            )
        with self._lock:
            if name not in self._open:
                graph = omnigraph.open(uri, durability=self._durability)
                configure(graph, self._memory)
                self._open[name] = graph
            return self._open[name]

    def opened(self) -> dict[str, Graph]:
        """The graphs that are open, by name."""
        with self._lock:
            return dict(self._open)

    def results(self, name: str) -> ResultStore:
        """Where results of a graph's statements are stored, to be read in slices."""
        return ResultStore(self.graph(name).folder(FOLDER))
