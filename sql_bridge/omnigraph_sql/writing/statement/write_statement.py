"""One statement that writes: a transaction on one branch, reads at its pin, one publish.

Outside a transaction of the session, a statement whose branch moved under it is run again from the
start: nothing of it has become visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
from sqlglot import exp

from omnigraph import Snapshot, Transaction
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.planning.plan_query import plan_query, read
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.writing.statement.write_parameters import values_for

MESSAGE_LENGTH = 200


@dataclass
class WriteStatement:
    """A statement that is running: where it reads, and the transaction it writes with."""

    session: SessionContext
    catalog: str
    txn: Transaction
    params: Params
    snapshot: Snapshot = field(init=False)
    returned: list[pa.Table] | None = None
    """The rows it changed, for RETURNING; none without."""

    def __post_init__(self) -> None:
        self.snapshot = self.txn.snapshot

    def record(self, rows: pa.Table) -> None:
        """Remember changed rows for RETURNING: their new state, or the last one of deleted rows."""
        if self.returned is not None:
            self.returned.append(rows)

    def read(self, query: exp.Expr, addresses_of: str | None = None) -> pa.RecordBatchReader:
        """The rows of a query, at the snapshot on which this change is based."""
        params = values_for(query, self.params)
        return read(self.session, query, params, addresses_of=addresses_of)

    def parts(self, query: exp.Expr, addresses_of: str | None = None) -> Iterator[pa.Table]:
        """The same, batch by batch."""
        return tables_of(self.read(query, addresses_of))

    def schema_of(self, query: exp.Expr) -> pa.Schema:
        """The columns of a query, without running it."""
        return plan_query(self.session, query, self.session.pins()).schema


WriteAction: TypeAlias = Callable[[WriteStatement], int]
"""Does the work of a statement; how many rows it changed."""
WritePlanner: TypeAlias = Callable[[SessionContext, exp.Expr], tuple[str, WriteAction]]
"""The branch a statement writes to, and what it does there."""


def tables_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches that have rows, as tables."""
    return (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)


def run_write(
    connection: SessionContext,
    catalog: str,
    text: str,
    params: Params,
    work: WriteAction,
    *,
    repeatable: bool = True,
) -> int:
    """Do a piece of work on a branch as one publish; how many rows it changed.

    It is done again when rows it had read moved or other writers kept publishing first, unless its
    input can be read only once.
    """
    branch = connection.writable(catalog, leading_text(text))

    def run(txn: Transaction) -> int:
        with connection.pinned(catalog, txn.snapshot):
            return work(WriteStatement(connection, catalog, txn, params))

    # Nobody else writes to the branch of a transaction.
    attempts = None if repeatable and not connection.in_transaction else 1
    return connection.graph.run_transaction(
        branch, run, attempts=attempts, actor=connection.user, message=leading_text(text)
    )


def leading_text(text: str) -> str:
    """A statement as the message of its commit."""
    line = " ".join(text[: 2 * MESSAGE_LENGTH].split())
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 1] + "…"
