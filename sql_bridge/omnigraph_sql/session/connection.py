"""A session: the current branch and schema, the dialect, and the statements it runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import pyarrow as pa
from sqlglot import exp

from omnigraph import Commit, Graph, Snapshot
from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.access_guard import Guard, allow
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.datafusion.datafusion_session import session_of
from omnigraph_sql.datafusion.result_stream import QueryExecution
from omnigraph_sql.frontend.parser import Parsed, only, parse, require_dialect
from omnigraph_sql.planning.planned_query import PlannedQuery
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.session.dbapi_cursor import Cursor
from omnigraph_sql.session.script import Script
from omnigraph_sql.session.statement import Statement
from omnigraph_sql.writing.ddl.temporary_tables import drop_temporary
from omnigraph_sql.writing.dml.ingest import IngestMode, ingest
from omnigraph_sql.writing.statement.session_transaction import (
    SessionTransaction,
    require_transaction,
)

PLANS = 256
"""How many plans a session caches."""


class Connection:
    """One session over a graph. Used by one thread at a time; `cancel` comes from any."""

    def __init__(
        self, graph: Graph, branch: str, user: str | None, schema: str | None, dialect: str
    ) -> None:
        graph.snapshot(branch)  # refuses a branch that does not exist
        self.graph = graph
        self.user = user
        self.datafusion = session_of(graph)
        self.catalog = branch
        self.schema = schema or "public"
        self._dialect = require_dialect(dialect)
        self._execution = QueryExecution()
        self.guard: Guard = allow
        """Sees what statements are about to access, and may refuse it."""
        self._transaction: SessionTransaction | None = None
        self._pinned: dict[str, Snapshot] = {}
        self._temporary: set[tuple[str, str]] = set()
        self._plans: OrderedDict[tuple[str, ...], PlannedQuery] = OrderedDict()

    @property
    def dialect(self) -> str:
        """The dialect of statements."""
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
        with self.one_publish() if _are_one_publish(statements) else nullcontext():
            for parsed in statements:
                result = Statement(self, parsed).execute(params)
        return result

    def prepare(self, sql: str) -> Statement | Script:
        """Parse and resolve a text without running it."""
        statements = parse(sql, self.dialect)
        if len(statements) > 1:
            return Script(self, sql, statements)
        return Statement(self, only(statements))

    def cursor(self) -> Cursor:
        """A cursor of Python's database interface."""
        return Cursor(self)

    def cancel(self) -> None:
        """Stop the statement that is running."""
        self._execution.cancel()

    def close(self) -> None:
        """End the session: roll back an open transaction, and drop temporary tables."""
        self._execution.cancel()
        self.rollback()
        drop_temporary(self, self._temporary)

    # ------------------------------------------------------------------ writing

    def ingest(
        self,
        table: str,
        rows: pa.RecordBatchReader,
        mode: IngestMode = "create",
        *,
        schema: str | None = None,
        catalog: str | None = None,
        temporary: bool = False,
    ) -> int:
        """Load rows into a plain table, or a type in the schemas nodes and edges; how many."""
        return ingest(self, table, rows, mode, schema=schema, catalog=catalog, temporary=temporary)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._transaction is not None

    @property
    def has_written(self) -> bool:
        """Whether the open transaction leaves a commit."""
        return self._transaction is not None and not self._transaction.is_untouched

    def begin(self, catalog: str | None = None) -> None:
        """Open a transaction on a branch, by default the current one, as it is now."""
        if self._transaction is not None:
            raise InvalidInput("a transaction is open already", hint="Commit or roll it back.")
        self._transaction = SessionTransaction(self.graph, catalog or self.catalog, self.user)

    def check_out(self, catalog: str) -> None:
        """Make a branch or moment the current catalog; a transaction that wrote nothing follows."""
        self.graph.snapshot(catalog)  # refuses one that does not exist
        if self._transaction is not None:
            self._transaction.move(catalog)
        self.catalog = catalog

    def explain_commit(self, message: str) -> None:
        """Set the message of the open transaction's commit."""
        require_transaction(self._transaction).message = message

    def commit_once(self, stream: str, batch: int) -> None:
        """Declare which batch of a stream the open transaction is; refused if it was applied."""
        transaction = require_transaction(self._transaction)
        # It leaves a commit even if nothing else is written.
        self.pins().touch("write", transaction.catalog)
        transaction.is_batch(stream, batch)

    def commit(self) -> Commit | None:
        """Publish everything since `begin` at once; none when nothing was written."""
        transaction, self._transaction = self._transaction, None
        return transaction.commit() if transaction else None

    def rollback(self) -> None:
        """Discard everything since `begin`."""
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.rollback()

    def savepoint(self, name: str) -> None:
        """Remember the state of the transaction under a name."""
        require_transaction(self._transaction).savepoint(name)

    def rollback_to(self, name: str) -> None:
        """Take the transaction back to a savepoint."""
        require_transaction(self._transaction).rollback_to(name)

    def release(self, name: str) -> None:
        """Forget a savepoint."""
        require_transaction(self._transaction).release(name)

    @contextmanager
    def one_publish(self, catalog: str | None = None) -> Iterator[None]:
        """A block whose statements are one transaction, unless one is open already.

        They write to the current branch unless another is named.
        """
        if self._transaction is not None:
            yield
            return
        self.begin(catalog)
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def writable(self, catalog: str, text: str) -> str:
        """The branch to which a statement for a catalog writes."""
        if "@" in catalog:
            raise InvalidInput(
                f"{catalog!r} is a read-only moment",
                hint="Create a branch there and write to it.",
            )
        if self._transaction is None:
            return catalog
        if catalog != self._transaction.catalog:
            raise InvalidInput(
                f"the open transaction writes to {self._transaction.catalog}, not to {catalog}",
                hint="Commit it first: a transaction writes to one branch.",
            )
        self._transaction.note(text)
        return self._transaction.writable()

    @contextmanager
    def pinned(self, catalog: str, snapshot: Snapshot) -> Iterator[None]:
        """A block in which a catalog is read at a given snapshot."""
        before = dict(self._pinned)
        self._pinned[catalog] = snapshot
        try:
            yield
        finally:
            self._pinned = before

    def remember_temporary(self, catalog: str, name: str) -> None:
        """Drop a table or view when the session ends."""
        self._temporary.add((catalog, name))

    def start(self) -> QueryExecution:
        """The execution of the next query, which `cancel` stops."""
        self._execution = QueryExecution()
        return self._execution

    def cached_plan(self, key: tuple[str, ...]) -> PlannedQuery | None:
        """The plan of an earlier execution."""
        planned = self._plans.get(key)
        if planned is not None:
            self._plans.move_to_end(key)
        return planned

    def cache_plan(self, key: tuple[str, ...], planned: PlannedQuery) -> None:
        """Cache a plan that stays right while its catalogs do not move."""
        if planned.cacheable:
            self._plans[key] = planned
            while len(self._plans) > PLANS:
                self._plans.popitem(last=False)

    def pins(self) -> PinnedSnapshots:
        """Snapshots for one statement."""
        pinned = dict(self._pinned)
        if self._transaction is not None and self._transaction.branch is None:
            pinned.setdefault(self._transaction.catalog, self._transaction.base)
        return PinnedSnapshots(self.graph, self.catalog, self._branch_of, pinned, self.guard)

    def _branch_of(self, catalog: str) -> str:
        """Where a catalog is read: inside a transaction, on the branch of the transaction."""
        transaction = self._transaction
        if transaction is not None and transaction.branch and catalog == transaction.catalog:
            return transaction.branch
        return catalog


def _are_one_publish(statements: Sequence[Parsed]) -> bool:
    """Whether several statements of one text are one publish: none is about transactions."""
    ending = (exp.Transaction, exp.Commit, exp.Rollback, exp.Use)
    return len(statements) > 1 and not any(isinstance(s.tree, ending) for s in statements)


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
