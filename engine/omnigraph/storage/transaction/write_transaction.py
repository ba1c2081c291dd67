"""`WriteTxn`: everything that writes, from pin to publish.

See docs/design/architecture.md#the-life-of-a-write.

A transaction pins a head, collects operations, stages one new version per touched table, validates
the final state, and publishes. When the branch moved under it, inserts and upserts are staged
again on the new head; strict operations (delete, overwrite) are refused, because they were decided
on rows that may have changed. So is anything after a read of a table that moved: an update is a
read and an upsert.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import InvalidInput, OmniGraphError, PreconditionFailed, StorageError
from omnigraph.schema import SchemaPlan
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.commit.publish_plan import (
    HeadMoved,
    PublishPlan,
    require_new,
    require_unprotected,
)
from omnigraph.storage.commit.registration import register, resume, unregister
from omnigraph.storage.commit.retry import (
    Attempt,
    ReadSet,
    collected_reads,
    expired,
    publish_with_retry,
)
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker
from omnigraph.storage.constraints.distributed_rules import validate_final_state
from omnigraph.storage.constraints.final_state import FinalState
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.failpoints import AFTER_VALIDATION, BEFORE_STAGE, failpoint
from omnigraph.storage.core.model import Commit, Head, Pointers
from omnigraph.storage.core.read_errors import blame_filter, translating
from omnigraph.storage.core.read_log import ReadLog
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.plain_writes import PlainWrites
from omnigraph.storage.refs.moments import DEFERRED_CHECKS, commit_token, present
from omnigraph.storage.refs.snapshot import Snapshot, check_columns
from omnigraph.storage.tables.data_files import DataFiles
from omnigraph.storage.tables.write_buffer import DataFileSink, RowBuffer
from omnigraph.storage.transaction.apply_schema import SchemaChange, stage_schema
from omnigraph.storage.transaction.fit_operations import fit_operations
from omnigraph.storage.transaction.operations import (
    DeleteRows,
    Operation,
    WriteMode,
    WriteRows,
)
from omnigraph.storage.transaction.staged_work import StagedWork


class WriteTxn:
    """One atomic change of one branch. Used by one thread at a time."""

    def __init__(
        self,
        store: GraphStore,
        branch: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        expected_table_versions: Mapping[str, int] | None = None,
        commit_when_empty: bool = False,
        once: tuple[str, int] | None = None,
        registered: str | None = None,
        checker: ConstraintChecker | None = None,
    ) -> None:
        """`registered` is the id of a transaction that another process registered as this one. A
        checker looks for violations where rows are too many for this machine."""
        store.ready_to_write()
        self._store = store
        self._actor = actor
        self._message = message
        self._if_commit = commit_token(if_commit) if if_commit is not None else None
        self._expected = dict(expected_table_versions or {})
        self._commit_when_empty = commit_when_empty
        self._operations: dict[str, list[Operation]] = {}
        self.reads = ReadLog()
        """What was read through this transaction and its snapshots."""
        self._once = once
        self._checker = checker
        self._registration: str | None = None
        self._spared: frozenset[str] = frozenset()
        """Tables that collections leave alone until it has ended."""
        self._finished = False
        self.commit_id = registered or new_ulid()
        self.pin: Head = store.head(branch)
        require_unprotected(self.pin)  # sooner than after a long load; the publish looks again
        self.catalog = store.catalog(self.pin.schema)
        self._schema_change: SchemaChange | None = None
        self._bases: Pointers = self.pin.tables
        self._staged_in = self.pin.epoch
        self._work = self._begin_work()
        self.plain = PlainWrites(store, self.pin, self.register, self.reads, self._explained)
        """The plain tables and definitions of this transaction."""
        if if_commit is not None and self.pin.commit != if_commit:
            raise PreconditionFailed(branch, if_commit, self.pin.commit)
        if registered is not None:
            self._registration, self._spared = resume(store.publisher, registered)
            self._staged_in = 0  # its files are older than anything that this process knows of

    def _begin_work(self) -> StagedWork:
        return StagedWork(
            self._store.tables,
            self.catalog,
            self.pin,
            self._bases,
            self._operations,
            self._checker,
        )

    def apply_schema(self, source: str, *, allow_data_loss: bool = False) -> SchemaPlan:
        """Change the schema; rows that are written after it go into the types it makes."""
        self._require_open()
        if self._operations:
            raise InvalidInput(
                "a transaction must change the schema before any rows",
                hint="Change the schema first, or in a transaction of its own.",
            )
        with translating(self._explained):
            change = stage_schema(
                self._store, self.catalog, self._bases, source, allow_data_loss=allow_data_loss
            )
        if change.plan.steps:
            before = self._schema_change
            self._schema_change = before.then(change, self.pin.tables) if before else change
            self._bases = self._schema_change.after(self.pin.tables)
            self.catalog = change.desired
            self._work = self._begin_work()
        return change.plan

    def write(
        self,
        type_: GraphType,
        rows: pa.Table,
        mode: WriteMode,
        *,
        one_file: bool = False,
        fresh_ids: bool = False,
    ) -> None:
        """Add rows, which have exactly the schema of the type's table."""
        self._require_open()
        operations = self._operations.setdefault(type_.table_key, [])
        last = operations[-1] if operations else None
        # Rows of the same kind go on in the same buffer, unless a read has staged it already.
        is_staged = self._work.applied(type_.table_key) == len(operations)
        if isinstance(last, WriteRows) and last.mode == mode and not is_staged:
            last.buffer.append(rows)
            operations[-1] = replace(last, fresh_ids=last.fresh_ids and fresh_ids)
            return
        buffer = self._buffer(type_)
        buffer.append(rows)
        operations.append(WriteRows(mode, buffer, one_file, fresh_ids))

    def adopt(
        self,
        type_: GraphType,
        files: DataFiles,
        rows: int,
        mode: WriteMode,
        *,
        fresh_ids: bool,
    ) -> None:
        """Add rows that were checked and written as data files of the table elsewhere."""
        self._require_open()
        buffer = self._buffer(type_)
        buffer.adopt(files, rows)
        operations = self._operations.setdefault(type_.table_key, [])
        operations.append(WriteRows(mode, buffer, True, fresh_ids))

    def clear(self, type_: GraphType) -> None:
        """Delete all entities of a type."""
        self._require_open()
        empty = WriteRows("overwrite", self._buffer(type_), fresh_ids=True)
        self._operations.setdefault(type_.table_key, []).append(empty)

    def remove(self, type_: GraphType, ids: pa.StringArray, *, cascade: bool = True) -> None:
        """Delete entities by id; nodes take their edges with them, unless `cascade` is off."""
        self._require_open()
        self._operations.setdefault(type_.table_key, []).append(DeleteRows(ids, cascade))

    def _buffer(self, type_: GraphType) -> RowBuffer:
        sink = DataFileSink(
            self._store.tables,
            self._bases[type_.table_key].address,
            table_schema(type_),
            lambda rows: check_values(type_, rows),
            self.register,
            self._store.writers,
        )
        return RowBuffer(sink)

    def version(self, table_key: str) -> TableVersion:
        """The table as this transaction sees it, its own operations included."""
        self._require_open()
        with translating(self._explained):
            return self._work.table(table_key).version

    def snapshot(self) -> Snapshot:
        """The graph as it was when this transaction began; what is read there may not move."""
        return Snapshot(self._store, present(self.pin), self.reads)

    def expect_unmoved(self, type_: GraphType) -> None:
        """What is written was decided on the rows of a type: refuse it if they move."""
        self.reads.keys.add(type_.table_key)
        self.reads.schema = True

    def scan(
        self, type_: GraphType, columns: Sequence[str] | None, condition: str | None
    ) -> pa.RecordBatchReader:
        """Read a type as this transaction sees it; it cannot be published if the type moves."""
        version = self.version(type_.table_key)
        self.expect_unmoved(type_)
        schema = table_schema(type_)
        if columns is not None:
            check_columns(columns)
            for name in columns:
                if name not in schema.names:
                    type_.property(name)
        target = pa.schema([schema.field(name) for name in columns or schema.names])
        explain = partial(self._explained, condition=condition)
        return self._store.tables.scan_as(
            version, target, explain, columns=target.names, condition=condition
        )

    def _explained(self, error: StorageError, condition: str | None = None) -> OmniGraphError:
        """A failure of the store in the caller's terms: no damage when a collection took files."""
        failure = blame_filter(error, condition)
        spared = self._registration is not None and self.plain.locations() <= self._spared
        if spared or not isinstance(failure, StorageError):
            return failure
        collected = self._store.head(self.pin.branch).epoch != self.pin.epoch
        return expired() if collected else failure

    def abort(self) -> None:
        """Forget everything; what was staged was never visible."""
        if not self._finished:
            self._finished = True
            self._unregister()

    def prepare(self) -> Mapping[str, int]:
        """Stage and validate now; by how many rows each table that changed grows or shrinks."""
        self._require_open()
        try:
            self._plan()
        except HeadMoved as moved:
            raise expired() from moved
        changed = sorted(self._work.changed.items())
        return {key: s.rows - s.base.rows for key, s in changed} | self.plain.growth()

    def commit(self) -> Commit | None:
        """Publish; none when nothing changed and an empty commit was not requested."""
        self._require_open()
        try:
            return publish_with_retry(
                self._store.publisher,
                self.pin.branch,
                self._attempt,
                reads=self._read_set,
                commit=self.commit_id,
            )
        finally:
            self._finished = True
            self._unregister()

    def _read_set(self) -> ReadSet:
        changes = frozenset(
            key for key, done in self._operations.items() if any(o.strict for o in done)
        )
        if changes:  # a cascade has looked for edges, too
            changes |= self._work.relied_on | self._work.changed.keys()
        return ReadSet(
            self.pin,
            frozenset(self.reads.keys),
            schema=self.reads.schema or self.plain.strict or self._schema_change is not None,
            strict=bool(self._expected or changes or self._schema_change) or self.plain.strict,
            changes=changes,
            registered=self._registration is not None,
        )

    @property
    def _relies_on_schema(self) -> bool:
        return bool(self._operations) or self.reads.schema or not self.plain.touched

    def _attempt(self, attempt: Attempt) -> Commit | None:
        if attempt.number:
            self._repin(attempt.head())
        plan = self._plan()
        changes = plan.tables or plan.definitions or plan.schema
        return attempt.publish(plan) if changes or self._commit_when_empty else None

    def _repin(self, head: Head) -> None:
        """Start again from another head, keeping what was staged on tables that stayed.

        What was staged belongs to one epoch, unless collections spare it, and to one schema.
        """
        before, self.pin, self._bases = self.pin, head, head.tables
        same_epoch = head.epoch == before.epoch
        is_kept = lambda location: same_epoch or location in self._spared  # noqa: E731
        self.plain.rebase(head, is_kept)
        if head.schema == before.schema:
            self._work = self._work.rebased(head, is_kept)
        else:
            catalog = self._store.catalog(head.schema)
            fit_operations(self._operations, before, self.catalog, head, catalog)
            self.catalog = catalog
            self._work = self._begin_work()
        if self._registration is None:
            self._staged_in = head.epoch

    def _plan(self) -> PublishPlan:
        """Stage what is left, validate the final state, and say what to publish."""
        with collected_reads(self._store.publisher, self.pin, lambda: self._registration):
            return self._prepare()

    def _prepare(self) -> PublishPlan:
        require_new(self.pin, self._once)  # before its rows are found to be there already
        failpoint(BEFORE_STAGE)
        work = self._work
        work.stage_all(self._store.workers)
        if not work.validated:
            changed = work.changed
            state = FinalState(self.catalog, changed, work.final)
            deferred = bool(self.pin.properties.get(DEFERRED_CHECKS))
            version = lambda key: work.final(key).version  # noqa: E731
            validate_final_state(self._checker, state, changed, version, deferred=deferred)
            work.validated = True
        self.plain.settle()
        if self._registration is not None and not self.plain.locations() <= self._spared:
            self.register()  # also of tables that it made after it had registered
        failpoint(AFTER_VALIDATION)
        graph_tables = {key: state.pointer for key, state in work.changed.items()}
        plan = PublishPlan(
            commit=self.commit_id,
            base=self.pin,
            staged_in=self._staged_in,
            tables={**graph_tables, **self.plain.pointers()},
            definitions=self.plain.definitions(),
            relies_on_schema=self._relies_on_schema,
            relies_on=frozenset(work.relied_on | self.reads.keys),
            actor=self._actor,
            message=self._message,
            if_commit=self._if_commit,
            expected_table_versions=self._expected,
            once=self._once,
            registration=self._registration,
        )
        return self._schema_change.on(plan) if self._schema_change else plan

    def _require_open(self) -> None:
        if self._finished:
            raise InvalidInput("the transaction has ended", hint="Begin a new one.")

    def register(self) -> None:
        """Before the first file that outlives this call: ask collections to spare the tables."""
        bases = (*self.pin.tables.values(), *self._bases.values())
        locations = frozenset(p.location for p in bases) | self.plain.locations()
        if not locations <= self._spared:
            self._registration = register(
                self._store.publisher, self.pin, self.commit_id, locations, self._actor
            )
            self._spared = locations

    def _unregister(self) -> None:
        if self._registration is not None:
            unregister(self._store.publisher, self._registration)
