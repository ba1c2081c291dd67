"""Bulk jobs: many processes write data files of one transaction, one process publishes them.

The job is registered before the first file is written, so a collection spares it. Files count only
when the transaction names them: those of tasks that failed, were killed or ran twice are garbage
that no table refers to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from omnigraph.errors import (
    Conflict,
    InvalidInput,
    OmniGraphError,
    ReadSetConflict,
    StorageError,
)
from omnigraph.schema import Catalog, EdgeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.commit.publish_plan import applied
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker
from omnigraph.storage.constraints.partitioned_check import PartitionedChecker
from omnigraph.storage.core.durability import Durability
from omnigraph.storage.core.model import Commit
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.plain_table import PREFIX
from omnigraph.storage.tables.data_files import DataFiles
from omnigraph.storage.tables.table_slices import tables_at
from omnigraph.storage.transaction.operations import WriteMode
from omnigraph.storage.transaction.write_transaction import WriteTxn

BulkMode = Literal["append", "merge", "overwrite"]
_OPERATIONS: Mapping[BulkMode, WriteMode] = {
    "append": "insert",
    "merge": "upsert",
    "overwrite": "overwrite",
}


MANY_ROWS = 16 << 20
"""More rows than these of types with @unique or @card are validated in partitions, unless a
distributed checker is given."""


@dataclass(frozen=True)
class Target:
    """A table that a job writes to, and how.

    A plain table needs the columns of the rows: it is made if it is missing, and on `overwrite`.
    """

    table_key: str
    mode: BulkMode = "append"
    columns: pa.Schema | None = None

    @property
    def plain_name(self) -> str | None:
        """`<schema>.<name>` of a plain table."""
        return self.table_key.removeprefix(PREFIX) if self.table_key.startswith(PREFIX) else None


@dataclass(frozen=True)
class Base:
    """The version of a table that files are written for, and the columns they have."""

    version: TableVersion
    schema: pa.Schema


@dataclass(frozen=True)
class BulkJob:
    """A registered transaction, as the processes that write its files know it."""

    id: str
    root: str
    branch: str
    incarnation: str
    schema: str
    """The hash of the schema that rows were converted by."""
    catalog: Mapping[str, Any]
    """That schema, compiled."""
    targets: tuple[Target, ...]
    bases: Mapping[str, Base]
    durability: Durability = Durability.SYNC
    """That of the graph it was begun with."""


@dataclass(frozen=True)
class StagedFiles:
    """Data files of one table that a process has written for a job."""

    table_key: str
    fragments: tuple[str, ...]
    rows: int
    fresh_ids: bool = False
    """Whether every id was generated, so that none needs to be looked up."""


def begin(
    store: GraphStore, branch: str, targets: Sequence[Target], actor: str | None = None
) -> BulkJob:
    """Register a job that will write to some tables of a branch."""
    keys = [target.table_key for target in targets]
    if not keys or len(set(keys)) < len(keys):
        raise InvalidInput("a bulk job must name each of its tables exactly once")
    txn = WriteTxn(store, branch, actor=actor)
    for target in targets:
        _prepare(txn, target)
    txn.register()
    bases = {target.table_key: _base(txn, target) for target in targets}
    pin = txn.pin
    compiled = store.schema(pin.schema)[0].compiled
    return BulkJob(
        txn.commit_id,
        store.root,
        branch,
        pin.incarnation,
        pin.schema,
        compiled,
        tuple(targets),
        bases,
        store.tables.sync.durability,
    )


def _prepare(txn: WriteTxn, target: Target, location: str | None = None) -> None:
    """Make the plain table that a target asks for, in the transaction; where its files are, if
    there are some."""
    name = target.plain_name
    if name is None:
        txn.catalog.type_for(target.table_key)
        return
    refuse_merge(target)
    if target.mode == "overwrite" or not txn.plain.exists(name):
        if target.columns is None:
            raise InvalidInput(f"the columns of {name} are needed to create it")
        replace = target.mode == "overwrite"
        txn.plain.create(name, target.columns, replace=replace, location=location)


def refuse_merge(target: Target) -> None:
    """Refuse to merge into a plain table."""
    if target.plain_name is not None and target.mode == "merge":
        raise InvalidInput(
            f"rows cannot be merged into the plain table {target.plain_name}: they have no ids",
            hint="Use append or overwrite.",
        )


def _base(txn: WriteTxn, target: Target) -> Base:
    name = target.plain_name
    if name is None:
        version = txn.version(target.table_key)
        return Base(version, table_schema(txn.catalog.type_for(target.table_key)))
    table = txn.plain.table(name)
    return Base(table.address, table.schema)


def write_files(
    job: BulkJob,
    table_key: str,
    batches: Iterable[pa.RecordBatch],
    options: Mapping[str, str] | None = None,
    *,
    fresh_ids: bool = False,
) -> StagedFiles:
    """Write rows, which were checked and have exactly the columns of the table, as data files."""
    base = job.bases[table_key]
    tables = tables_at(job.root, tuple(sorted((options or {}).items())), job.durability)
    rows, failures = 0, list[OmniGraphError]()

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        try:
            for batch in batches:
                rows += batch.num_rows
                yield batch
        except OmniGraphError as error:
            failures.append(error)
            raise

    try:
        reader = pa.RecordBatchReader.from_batches(base.schema, counted())
        written = tables.write(base.version, reader)
    except StorageError:
        for failure in failures:  # the rows were at fault, not the store
            raise failure from None
        raise
    return StagedFiles(table_key, written.to_json(), rows, fresh_ids)


def finish(
    store: GraphStore,
    job: BulkJob,
    files: Iterable[StagedFiles],
    *,
    actor: str | None = None,
    message: str | None = None,
    once: tuple[str, int] | None = None,
    checker: ConstraintChecker | None = None,
) -> Commit | None:
    """Validate what the files hold and publish all of it in one commit; none if it is nothing."""
    by_table: dict[str, list[StagedFiles]] = {target.table_key: [] for target in job.targets}
    for staged in files:
        by_table[staged.table_key].append(staged)
    if checker is None and _needs_partitions(job, by_table):
        checker = PartitionedChecker(store.tables, store.root, store.options)
    txn = WriteTxn(
        store,
        job.branch,
        actor=actor,
        message=message,
        once=once,
        registered=job.id,
        commit_when_empty=once is not None,
        checker=checker,
    )
    try:
        _require_same(txn, job)
        for target in job.targets:
            location = job.bases[target.table_key].version.location
            _adopt(txn, target, location, by_table[target.table_key])
    except BaseException:
        txn.abort()
        raise
    return txn.commit()


def _needs_partitions(job: BulkJob, files: Mapping[str, Sequence[StagedFiles]]) -> bool:
    """Whether the values of too many rows are needed to check some rule in memory."""
    catalog = Catalog.from_json(dict(job.catalog))
    ruled = (
        target.table_key
        for target in job.targets
        if target.plain_name is None and _has_rules(catalog.type_for(target.table_key))
    )
    return sum(staged.rows for key in ruled for staged in files[key]) > MANY_ROWS


def _has_rules(type_: GraphType) -> bool:
    counted = isinstance(type_, EdgeType) and not type_.cardinality.is_free
    return counted or bool(type_.uniques)


def abandon(store: GraphStore, job: BulkJob) -> None:
    """Give a job up: a collection may delete its files."""
    WriteTxn(store, job.branch, registered=job.id).abort()


def last_batch(store: GraphStore, branch: str, stream: str) -> int:
    """The number of the last batch of a stream on a branch."""
    return applied(store.head(branch), stream)


def _require_same(txn: WriteTxn, job: BulkJob) -> None:
    if txn.pin.incarnation != job.incarnation:
        raise Conflict(
            f"branch {job.branch!r} was deleted and created again",
            hint="Start the job again on the new branch.",
        )
    if txn.pin.schema != job.schema:
        raise ReadSetConflict(
            "schema", job.schema, txn.pin.schema, "the schema of the branch changed"
        )


def _adopt(txn: WriteTxn, target: Target, location: str, files: Sequence[StagedFiles]) -> None:
    written = DataFiles.from_json(text for staged in files for text in staged.fragments)
    rows = sum(staged.rows for staged in files)
    name = target.plain_name
    if name is not None:
        _prepare(txn, target, location)
        if rows:
            txn.plain.adopt(name, location, written, rows)
        return
    type_ = txn.catalog.type_for(target.table_key)
    if rows or target.mode == "overwrite":
        fresh = all(staged.fresh_ids for staged in files if staged.rows)
        txn.adopt(type_, written, rows, _OPERATIONS[target.mode], fresh_ids=fresh)
