"""A transaction as users have it in their hands: entities, plain tables, schema, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from omnigraph.errors import InvalidInput, LoadError
from omnigraph.loading.columnar_reader import read_columnar
from omnigraph.loading.typed_batch import ids_for
from omnigraph.schema import Catalog, SchemaPlan
from omnigraph.storage.commit.retry import run_with_retry
from omnigraph.storage.core.model import Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.conform_rows import conformed
from omnigraph.storage.plain.plain_table import NOTHING_DECLARED, TableDeclaration
from omnigraph.storage.plain.plain_writes import PlainWrites
from omnigraph.storage.refs.snapshot import Snapshot, find_type
from omnigraph.storage.transaction.operations import WriteMode
from omnigraph.storage.transaction.write_transaction import WriteTxn

RowInput: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | Sequence[Mapping[str, Any]]
TRANSACTION_ATTEMPTS = 16
"""How often a transaction that is refused for what others did is run from its start."""

T = TypeVar("T")


class Transaction:
    """One atomic change: everything in it becomes visible at once, or nothing does."""

    def __init__(self, txn: WriteTxn) -> None:
        self._txn = txn
        self.commit: Commit | None = None
        """The published commit, once the block has ended; none when nothing changed."""

    def insert(self, type_name: str, rows: RowInput) -> None:
        """Add entities that must not exist yet."""
        self._write(type_name, rows, "insert")

    def upsert(self, type_name: str, rows: RowInput) -> None:
        """Add entities, replacing those that exist."""
        self._write(type_name, rows, "upsert")

    def overwrite(self, type_name: str, rows: RowInput) -> None:
        """Replace all entities of a type."""
        self._write(type_name, rows, "overwrite")

    def delete(
        self,
        type_name: str,
        ids: Iterable[str] | pa.Array | pa.ChunkedArray,
        *,
        cascade: bool = True,
    ) -> None:
        """Remove entities by id. A node takes its edges with it, unless `cascade` is off."""
        type_ = find_type(self._txn.catalog, type_name)
        self._txn.remove(type_, _id_array(ids), cascade=cascade)

    @property
    def snapshot(self) -> Snapshot:
        """The graph as it was when this transaction began, for reading.

        What is read through it must not have moved when the transaction commits: otherwise the
        commit is refused with a `ReadSetConflict`, and `Graph.run_transaction` runs it again.
        """
        return self._txn.snapshot()

    @property
    def catalog(self) -> Catalog:
        """The schema this transaction writes under."""
        self._txn.reads.schema = True
        return self._txn.catalog

    def expect_unmoved(self, type_name: str) -> None:
        """What is written was decided on the rows of a type: refuse it if they move."""
        self._txn.expect_unmoved(find_type(self._txn.catalog, type_name))

    def clear(self, type_name: str) -> None:
        """Remove all entities of a type."""
        self._txn.clear(find_type(self._txn.catalog, type_name))

    def scan(
        self,
        type_name: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
    ) -> pa.RecordBatchReader:
        """Read a type as this transaction sees it, its own writes included."""
        return self._txn.scan(find_type(self._txn.catalog, type_name), columns, filter)

    def ids_for(self, type_name: str, rows: pa.Table) -> pa.Array:
        """The ids that rows of a type have, or will have when they are inserted with them."""
        type_ = find_type(self._txn.catalog, type_name)
        columns = {name: rows.column(name).combine_chunks() for name in rows.schema.names}
        ids, _ = ids_for(type_, columns.pop("id", None), columns, rows.num_rows)
        return ids

    def _write(self, type_name: str, rows: RowInput, mode: WriteMode) -> None:
        type_ = find_type(self._txn.catalog, type_name)
        if mode == "overwrite":
            # What follows goes on from here, and not from rows of an earlier overwrite.
            self._txn.clear(type_)
        for typed in read_columnar(tabular(rows), type_):
            self._txn.write(
                type_,
                pa.Table.from_batches([typed.batch]),
                mode,
                fresh_ids=typed.generated_ids,
            )

    # ------------------------------------------------------------------ plain tables and the rest

    @property
    def plain(self) -> PlainWrites:
        """Everything that can be done to plain tables and definitions in this transaction."""
        return self._txn.plain

    def create_table(
        self,
        name: str,
        schema: pa.Schema,
        declaration: TableDeclaration = NOTHING_DECLARED,
        *,
        replace: bool = False,
    ) -> None:
        """Make an empty plain table `<schema>.<name>`; `replace` empties one that is there."""
        self.plain.create(name, schema, declaration, replace=replace)

    def append(self, name: str, rows: RowInput) -> int:
        """Add rows to a plain table, matched by column name; how many they were."""
        schema = self.plain.schema(name)
        count = 0
        for part in parts(tabular(rows)):
            self.plain.append(name, conformed(part, schema))
            count += part.num_rows
        return count

    def drop_table(self, name: str) -> None:
        """Take a plain table off the branch; older moments still have it."""
        self.plain.drop(name)

    def apply_schema(self, source: str, *, allow_data_loss: bool = False) -> SchemaPlan:
        """Change the schema of the graph, before any row of this transaction."""
        return self._txn.apply_schema(source, allow_data_loss=allow_data_loss)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit = self._txn.commit()
        else:
            self._txn.abort()


def run_transaction(
    store: GraphStore,
    branch: str,
    work: Callable[[Transaction], T],
    attempts: int | None,
    actor: str | None,
    message: str | None,
) -> T:
    """Do some work in a transaction, again from its start when what others did refused it."""

    def run() -> T:
        with Transaction(WriteTxn(store, branch, actor=actor, message=message)) as transaction:
            return work(transaction)

    return run_with_retry(run, TRANSACTION_ATTEMPTS if attempts is None else attempts)


def _id_array(ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> pa.StringArray:
    if isinstance(ids, str | bytes):
        raise InvalidInput("ids must be given as a list", hint=f"Write [{ids!r}].")
    given = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    try:
        array = given if isinstance(given, pa.Array) else pa.array(list(given), pa.string())
    except (pa.ArrowException, TypeError) as error:
        raise InvalidInput(f"ids must be strings: {error}") from error
    if array.null_count or array.type not in (pa.string(), pa.large_string()):
        raise InvalidInput(f"ids must be strings without nulls, not {array.type}")
    return array.cast(pa.string())


def tabular(rows: RowInput) -> pa.Table | pa.RecordBatchReader:
    """Rows as Arrow has them."""
    if isinstance(rows, pa.Table | pa.RecordBatchReader):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput(
            "rows must be dictionaries or an Arrow table", hint='Write [{"name": "Ada"}, …].'
        )
    # Arrow itself would take the columns of the first row for those of all.
    names = dict.fromkeys(str(name) for row in rows for name in row)
    if rows and not names:
        return pa.table({"id": pa.nulls(len(rows), pa.string())})
    return pa.table({name: _column(name, [row.get(name) for row in rows]) for name in names})


def _column(name: str, values: list[Any]) -> pa.Array:
    reason = "value_type"
    try:
        try:
            return pa.array(values)
        except OverflowError:
            reason = "value_range"
            return pa.array(values, pa.uint64())
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise LoadError(reason, f"{name}: {error}", field=name) from error


def parts(rows: pa.Table | pa.RecordBatchReader) -> Iterator[pa.Table]:
    """A table, or what a reader gives, piece by piece."""
    if isinstance(rows, pa.Table):
        return iter([rows])
    return (pa.Table.from_batches([batch]) for batch in rows)
