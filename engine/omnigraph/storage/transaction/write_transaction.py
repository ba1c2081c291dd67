"""`WriteTxn`: everything that writes, from pin to publish (architecture §2.3).

A transaction pins a head, collects operations, stages one new version per touched table, validates
the final image, and publishes. When the branch moved under it, inserts and upserts are staged
again on the new head; strict operations (delete, overwrite) are refused, because they were decided
on rows that may have changed. So is anything after a read of a table that moved: an update is a
read and an upsert.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Literal

import pyarrow as pa

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import (
    Conflict,
    ExpectedVersionMismatch,
    InvalidInput,
    OmniGraphError,
    PreconditionFailed,
    PublishContention,
    ReadSetConflict,
    StorageError,
    TransactionExpired,
)
from omnigraph.schema import SchemaPlan
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.commit.publish_plan import (
    HeadMoved,
    PublishPlan,
    require_new,
    require_unprotected,
)
from omnigraph.storage.commit.publisher import PAUSE_SECONDS
from omnigraph.storage.commit.registration import register, resume, unregister
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker
from omnigraph.storage.constraints.distributed_rules import validate_final_state
from omnigraph.storage.constraints.final_state import FinalState
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.failpoints import AFTER_VALIDATION, BEFORE_STAGE, failpoint
from omnigraph.storage.core.model import Commit, Head, Pointers
from omnigraph.storage.core.read_errors import blame_filter, translating
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.plain.plain_writes import PlainWrites
from omnigraph.storage.refs.moments import DEFERRED_CHECKS, commit_token, present
from omnigraph.storage.refs.snapshot import Snapshot, check_columns
from omnigraph.storage.tables.data_files import DataFiles
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.write_buffer import DataFileSink, RowBuffer
from omnigraph.storage.transaction.apply_schema import SchemaChange, stage_schema
from omnigraph.storage.transaction.cascade_delete import cascade, permanently_deleted
from omnigraph.storage.transaction.operations import (
    DeleteRows,
    Operation,
    OverwriteRows,
    WriteRows,
    with_given_ids,
    writing,
)
from omnigraph.storage.transaction.stage_rows import StagedTable, nothing_staged, stage
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
        survey: ConstraintChecker | None = None,
    ) -> None:
        """`registered` is the id of a transaction that another process registered as this one. A
        survey looks for what breaks a rule where rows are too many for this machine."""
        store.ready_to_write()
        self._store = store
        self._actor = actor
        self._message = message
        self._if_commit = commit_token(if_commit) if if_commit is not None else None
        self._expected = dict(expected_table_versions or {})
        self._commit_when_empty = commit_when_empty
        self._operations: dict[str, list[Operation]] = {}
        self._read: set[str] = set()
        self._once = once
        self._survey = survey
        self._registration: str | None = None
        self._spared: set[str] = set()
        self._finished = False
        self.commit_id = registered or new_ulid()
        self.pin: Head = store.head(branch)
        require_unprotected(self.pin)  # sooner than after a long load; the publish looks again
        self.catalog = store.catalog(self.pin.schema)
        self._work = StagedWork(self.pin)
        self._schema_change: SchemaChange | None = None
        self._bases: Pointers = self.pin.tables
        self.plain = PlainWrites(store, self.pin, self.register)
        """The plain tables and definitions of this transaction."""
        if if_commit is not None and self.pin.commit != if_commit:
            raise PreconditionFailed(branch, if_commit, self.pin.commit)
        if registered is not None:
            self._registration = resume(store.publisher, registered)

    def apply_schema(self, source: str, *, allow_data_loss: bool = False) -> SchemaPlan:
        """Change the schema; rows that are written after it go into the types it makes."""
        self._require_open()
        if self._operations:
            raise InvalidInput(
                "a transaction changes its schema before its rows",
                hint="Change the schema first, or in a transaction of its own.",
            )
        change = stage_schema(
            self._store, self.catalog, self._bases, source, allow_data_loss=allow_data_loss
        )
        if change.plan.steps:
            before = self._schema_change
            self._schema_change = before.then(change, self.pin.tables) if before else change
            self._bases = self._schema_change.after(self.pin.tables)
            self.catalog = change.desired
        return change.plan

    def write(
        self,
        type_: GraphType,
        rows: pa.Table,
        mode: Literal["insert", "upsert", "overwrite"],
        *,
        one_file: bool = False,
        fresh_ids: bool = False,
    ) -> None:
        """Add rows, which have exactly the schema of the type's table."""
        self._require_open()
        operations = self._operations.setdefault(type_.table_key, [])
        last = operations[-1] if operations else None
        # Rows of the same kind go on in the same buffer, unless a read has staged it already.
        joins = (
            not isinstance(last, DeleteRows)
            and last is not None
            and self._work.applied(type_.table_key) < len(operations)
            and (isinstance(last, OverwriteRows) or last.mode == mode)
            and isinstance(last, OverwriteRows) == (mode == "overwrite")
        )
        if joins:
            assert isinstance(last, WriteRows | OverwriteRows)
            last.buffer.append(rows)
            if last.fresh_ids and not fresh_ids:
                operations[-1] = with_given_ids(last)
            return
        buffer = self._buffer(type_)
        buffer.append(rows)
        operations.append(writing(mode, buffer, one_file, fresh_ids))

    def adopt(
        self,
        type_: GraphType,
        files: DataFiles,
        rows: int,
        mode: Literal["insert", "upsert", "overwrite"],
        *,
        fresh_ids: bool,
    ) -> None:
        """Add rows that were checked and written as data files of the table elsewhere."""
        self._require_open()
        buffer = self._buffer(type_)
        buffer.adopt(files, rows)
        operations = self._operations.setdefault(type_.table_key, [])
        operations.append(writing(mode, buffer, True, fresh_ids))

    def clear(self, type_: GraphType) -> None:
        """Take out all entities of a type."""
        self._require_open()
        empty = OverwriteRows(self._buffer(type_), fresh_ids=True)
        self._operations.setdefault(type_.table_key, []).append(empty)

    def remove(self, type_: GraphType, ids: pa.StringArray, *, cascade: bool = True) -> None:
        """Take out entities by id; a node takes its edges with it unless told not to."""
        self._require_open()
        self._operations.setdefault(type_.table_key, []).append(DeleteRows(ids, cascade))

    def _buffer(self, type_: GraphType) -> RowBuffer:
        base = self._bases[type_.table_key]
        sink = DataFileSink(
            self._store.tables,
            TableVersion(base.location, base.lance),
            table_schema(type_),
            lambda rows: check_values(type_, rows),
            self.register,
            self._store.writers,
        )
        return RowBuffer(sink)

    def version(self, table_key: str) -> TableVersion:
        """The table as this transaction sees it, its own operations included."""
        self._require_open()
        with translating(partial(self._explained, condition=None)):
            return self._staged(table_key).version

    def snapshot(self) -> Snapshot:
        """The graph as it was when this transaction began."""
        return Snapshot(self._store, present(self.pin))

    def expect_unmoved(self, type_: GraphType) -> None:
        """What is written was decided on the rows of a type: refuse it if they move."""
        self._read.add(type_.table_key)

    def scan(
        self, type_: GraphType, columns: Sequence[str] | None, condition: str | None
    ) -> pa.RecordBatchReader:
        """Read a type as this transaction sees it; it cannot be published if the type moves."""
        version = self.version(type_.table_key)
        self._read.add(type_.table_key)
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

    def _explained(self, error: StorageError, condition: str | None) -> OmniGraphError:
        """A failed read in the caller's terms: not damage when a collection took the files."""
        blamed = blame_filter(error, condition)
        if not isinstance(blamed, StorageError):
            return blamed
        lost = self._lost_to_collection(self._store.head(self.pin.branch))
        return _expired() if lost else blamed

    def _lost_to_collection(self, head: Head) -> bool:
        """Whether files that were staged and not published may be gone, and pinned ones, too."""
        return head.epoch != self.pin.epoch and self._registration is None

    def _staged(self, table_key: str) -> StagedTable:
        work = self._work
        state = work.staged.get(table_key)
        if state is None:
            state = nothing_staged(self.catalog.type_for(table_key), self._bases[table_key])
        operations = self._operations.get(table_key, [])
        done = work.applied(table_key)
        for operation in operations[done:]:
            before = len(state.removed)
            state = stage(self._store.tables, state, [operation], self._survey)
            if (
                isinstance(operation, DeleteRows)
                and operation.cascade
                and state.type.kind == "node"
            ):
                # Only nodes that were there take edges along.
                work.cascades.setdefault(table_key, []).append(state.removed.slice(before))
        work.keep(table_key, state, len(operations))
        return state

    def abort(self) -> None:
        """Forget everything; what was staged was never visible."""
        if not self._finished:
            self._finished = True
            self._unregister()

    def prepare(self) -> Mapping[str, int]:
        """Stage and validate now; by how many rows each table that changed grows or shrinks."""
        self._require_open()
        self._plan()
        staged = self._work.staged
        grown = {key: s.rows - s.base.rows for key, s in sorted(staged.items()) if s.changed}
        return grown | self.plain.growth()

    def commit(self) -> Commit | None:
        """Publish; none when nothing changed and an empty commit was not asked for."""
        self._require_open()
        try:
            return self._publish()
        finally:
            self._finished = True
            self._store.publisher.forget(self.commit_id)
            self._unregister()

    def _publish(self) -> Commit | None:
        publisher = self._store.publisher
        for attempt in range(publisher.retry_budget):
            if attempt:
                time.sleep(random.uniform(0.5, 1.5) * PAUSE_SECONDS * attempt)
            # Who has lost once queues up before staging again, so that it does not lose for ever.
            with publisher.exclusive() if attempt else nullcontext():
                if attempt:
                    self._repin()
                try:
                    plan = self._plan()
                    changes = plan.tables or plan.definitions or plan.schema
                    if not changes and not self._commit_when_empty:
                        return None
                    return publisher.publish(plan, first=attempt > 0)
                except HeadMoved as moved:
                    self._refuse_if_strict(moved)
        raise PublishContention(
            f"other writers of {self.pin.branch} were faster {publisher.retry_budget} times; "
            "nothing was changed",
            hint="Try again, or open the graph with a larger retry_budget.",
        )

    def _repin(self) -> None:
        """Start again from the newest head, keeping what was staged on tables that stayed."""
        head = self._store.head(self.pin.branch)
        if head.incarnation != self.pin.incarnation:
            raise Conflict(
                f"branch {head.branch!r} was deleted and created again",
                hint="Start the write again on the new branch.",
            )
        for key in sorted(self._read):
            if head.tables.get(key) != self.pin.tables.get(key):
                raise ExpectedVersionMismatch(key, _version(self.pin, key), _version(head, key))
        keep = head.epoch == self.pin.epoch or self._registration is not None
        self.plain.rebase(head, staged_is_there=keep)
        self._work = self._work.rebased(head) if keep else StagedWork(head)
        self.pin = head
        self._bases = head.tables

    def _refuse_if_strict(self, moved: HeadMoved) -> None:
        strict = (
            self._expected
            or self.plain.strict
            or self._schema_change is not None
            or any(o.strict for operations in self._operations.values() for o in operations)
        )
        if moved.member in ("schema", "identities"):
            what = "another schema change was faster"
            raise ReadSetConflict("schema", self.pin.schema, moved.head.schema, what)
        if moved.expired and (strict or self._registration is not None):
            raise _expired()
        if strict and moved.member in moved.head.tables:
            raise ExpectedVersionMismatch(
                moved.member,
                _version(self.pin, moved.member),
                _version(moved.head, moved.member),
            )
        if strict:
            raise ReadSetConflict(moved.member, self.pin.commit, moved.head.commit)

    def _plan(self) -> PublishPlan:
        """Stage what is left, validate the final image, and say what to publish."""
        try:
            return self._prepare()
        except StorageError as error:
            head = self._store.head(self.pin.branch)
            if not self._lost_to_collection(head):
                raise
            # Not damage: a collection took files that were staged and not published yet.
            raise HeadMoved(head, "collection", expired=True) from error

    def _prepare(self) -> PublishPlan:
        require_new(self.pin, self._once)  # before its rows are found to be there already
        failpoint(BEFORE_STAGE)
        work = self._work
        self._check_values()
        staged = self._store.workers.map(self._staged, self._operations)
        for key, state in zip(self._operations, staged, strict=True):
            work.staged[key] = state
        self._cascade()
        touched = {key: state for key, state in work.staged.items() if state.changed}
        if not work.validated:
            image = FinalState(self.catalog, touched, self._final)
            deferred = bool(self.pin.properties.get(DEFERRED_CHECKS))
            validate_final_state(self._survey, image, touched, self._version, deferred=deferred)
            work.validated = True
            touched = {key: state for key, state in work.staged.items() if state.changed}
        self.plain.settle()
        failpoint(AFTER_VALIDATION)
        graph_tables = {key: state.pointer for key, state in touched.items()}
        plan = PublishPlan(
            commit=self.commit_id,
            base=self.pin,
            tables={**graph_tables, **self.plain.pointers()},
            definitions=self.plain.definitions(),
            relies_on_schema=bool(self._operations or self._read) or not self.plain.touched,
            relies_on=frozenset(work.relied_on | self._read),
            actor=self._actor,
            message=self._message,
            if_commit=self._if_commit,
            expected_table_versions=self._expected,
            once=self._once,
            registration=self._registration,
        )
        return self._schema_change.on(plan) if self._schema_change else plan

    def _version(self, table_key: str) -> TableVersion:
        return self._final(table_key).version

    def _check_values(self) -> None:
        """Values of all tables come before what has to be looked up in any (loading.md §5)."""
        for _, operations in sorted(self._operations.items()):
            for operation in operations:
                if not isinstance(operation, DeleteRows):
                    operation.buffer.finish()
                    operation.buffer.check_rest()

    def _final(self, table_key: str) -> StoredTable:
        """A table as it will be; one that is not staged is relied on to stay."""
        state = self._state(table_key)
        if not state.changed:
            self._work.relied_on.add(table_key)
        ready = partial(self._ready, table_key)
        return StoredTable(self._store.tables, state.version, state.rows, ready)

    def _state(self, table_key: str) -> StagedTable:
        staged = self._work.staged.get(table_key)
        if staged is not None:
            return staged
        return nothing_staged(self.catalog.type_for(table_key), self._bases[table_key])

    def _ready(self, table_key: str, column: str) -> TableVersion:
        """The table, with an index on the column if looking a few values up is worth one."""
        with self._work.upkeep:
            state = self._state(table_key)
            version = ready_for_probes(self._store.tables, state.version, state.type, column)
            if version != state.version:
                self._work.staged[table_key] = replace(state, version=version)
            return version

    def _cascade(self) -> None:
        """Take out the edges of nodes that go."""
        work, tables = self._work, self._store.tables
        for node_key, removals in list(work.cascades.items()):
            node = work.staged[node_key]
            gone = permanently_deleted(tables, node, removals)
            for state in cascade(
                tables,
                self.catalog,
                node.type.name,
                gone,
                self._staged,
                lambda key: self._operations.get(key, ()),
            ):
                work.relied_on.add(state.type.table_key)
                work.staged[state.type.table_key] = state
        work.cascades = {}

    def _require_open(self) -> None:
        if self._finished:
            raise InvalidInput("the transaction has ended", hint="Begin a new one.")

    def register(self) -> None:
        """Before the first file that outlives this call: ask collections to spare the tables."""
        bases = (*self.pin.tables.values(), *self._bases.values())
        locations = {pointer.location for pointer in bases} | self.plain.locations()
        if not locations <= self._spared:
            self._registration = register(
                self._store.publisher, self.pin, self.commit_id, locations, self._actor
            )
            self._spared = locations

    def _unregister(self) -> None:
        if self._registration is not None:
            unregister(self._store.publisher, self._registration)


def _expired() -> TransactionExpired:
    return TransactionExpired(
        "a collection ran while this transaction was open", hint="Start the transaction again."
    )


def _version(head: Head, table_key: str) -> int | None:
    return head.tables[table_key].version if table_key in head.tables else None
