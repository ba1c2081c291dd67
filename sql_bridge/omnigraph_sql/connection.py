"""A session: the current branch and schema, the dialect, and the statements it runs."""

from __future__ import annotations

from collections import OrderedDict

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.graph import Graph
from omnigraph_sql.engine import engine_of
from omnigraph_sql.parameters import Params
from omnigraph_sql.parsing import parse, parse_one, require_dialect
from omnigraph_sql.pins import Pins
from omnigraph_sql.reading import Planned
from omnigraph_sql.statement import Statement
from omnigraph_sql.streams import Running

PLANS = 256
"""How many plans a session remembers."""


class Connection:
    """One session over a graph. Used by one thread at a time; `cancel` comes from any."""

    def __init__(
        self, graph: Graph, branch: str, user: str | None, schema: str | None, dialect: str
    ) -> None:
        graph.snapshot(branch)  # a branch that is not there is told at once
        self.graph = graph
        self.user = user
        self.engine = engine_of(graph)
        self.catalog = branch
        self.schema = schema or "public"
        self._dialect = require_dialect(dialect)
        self._running = Running()
        self._plans: OrderedDict[tuple[str, ...], Planned] = OrderedDict()

    @property
    def dialect(self) -> str:
        """How statements are spelled."""
        return self._dialect

    @dialect.setter
    def dialect(self, name: str) -> None:
        self._dialect = require_dialect(name)

    def execute(self, sql: str, params: Params = None) -> pa.RecordBatchReader | int:
        """Run a text: the rows of its last statement, or how many rows it changed."""
        statements = parse(sql, self.dialect)
        if not statements:
            raise InvalidInput("the text holds no statement", hint="Send at least one.")
        result: pa.RecordBatchReader | int = 0
        for parsed in statements:
            result = Statement(self, parsed).execute(params)
        return result

    def prepare(self, sql: str) -> Statement:
        """Parse and resolve the only statement of a text, without running it."""
        return Statement(self, parse_one(sql, self.dialect))

    def cancel(self) -> None:
        """Stop the statement that is running."""
        self._running.cancel()

    def close(self) -> None:
        """End the session."""
        self._running.cancel()

    def start(self) -> Running:
        """What the next statement runs as."""
        self._running = Running()
        return self._running

    def remembered(self, key: tuple[str, ...]) -> Planned | None:
        """The plan of an earlier execution."""
        found = self._plans.get(key)
        if found is not None:
            self._plans.move_to_end(key)
        return found

    def remember(self, key: tuple[str, ...], planned: Planned) -> None:
        """Keep a plan that is right as long as its moments stay."""
        if planned.lasting:
            self._plans[key] = planned
            while len(self._plans) > PLANS:
                self._plans.popitem(last=False)

    def pins(self) -> Pins:
        """Moments for one statement."""
        return Pins(self.graph, self.catalog, self.branch_of)

    def branch_of(self, catalog: str) -> str:
        """Where a catalog is read: inside a transaction, on the branch of the transaction."""
        return catalog


def connect(
    graph: Graph,
    branch: str = "main",
    user: str | None = None,
    *,
    schema: str | None = None,
    dialect: str = "postgres",
) -> Connection:
    """A session over an open graph, with a branch or moment as its current catalog."""
    return Connection(graph, branch, user, schema, dialect)
