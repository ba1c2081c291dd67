"""One statement that writes: a transaction on one branch, reads at its pin, one publish.

Outside a transaction of the session, a statement whose branch moved under it is run again from the
start: nothing of it has become visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from omnigraph import Snapshot, Transaction
from omnigraph_sql.planning.plan_query import plan_query, read
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.writing.statement.write_parameters import values_for

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

ATTEMPTS = 8
MESSAGE_LENGTH = 200


@dataclass
class WriteStatement:
    """A statement at work: where it reads, and the transaction it writes with."""

    connection: Connection
    catalog: str
    txn: Transaction
    params: Params
    snapshot: Snapshot = field(init=False)
    kept: list[pa.Table] | None = None
    """The rows it changed, for RETURNING; none where nobody asks."""

    def __post_init__(self) -> None:
        self.snapshot = self.txn.snapshot

    def keep(self, rows: pa.Table) -> None:
        """Remember changed rows: as they became, or as they were before they went."""
        if self.kept is not None:
            self.kept.append(rows)

    def read(self, query: exp.Expr, addresses_of: str | None = None) -> pa.RecordBatchReader:
        """The rows of a query, at the moment this change is based on."""
        given = values_for(query, self.params)
        return read(self.connection, query, given, addresses_of=addresses_of)

    def parts(self, query: exp.Expr, addresses_of: str | None = None) -> Iterator[pa.Table]:
        """The same, piece by piece."""
        for batch in self.read(query, addresses_of):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def schema_of(self, query: exp.Expr) -> pa.Schema:
        """What a query would give, without running it."""
        return plan_query(self.connection, query, self.connection.pins()).schema


def run_write(
    connection: Connection,
    catalog: str,
    text: str,
    params: Params,
    work: Callable[[WriteStatement], int],
    *,
    attempts: int = ATTEMPTS,
) -> int:
    """Do a piece of work on a branch as one publish; how many rows it changed."""
    branch = connection.writable(catalog, leading_text(text))

    def run(txn: Transaction) -> int:
        with connection.pinned(catalog, txn.snapshot):
            return work(WriteStatement(connection, catalog, txn, params))

    return connection.graph.run_transaction(
        branch,
        run,
        # Nobody else writes to the branch of a transaction.
        attempts=1 if connection.in_transaction else attempts,
        actor=connection.user,
        message=leading_text(text),
    )


def leading_text(text: str) -> str:
    """A statement as the message of its commit."""
    line = " ".join(text[: 2 * MESSAGE_LENGTH].split())
    return line if len(line) <= MESSAGE_LENGTH else line[: MESSAGE_LENGTH - 1] + "…"
