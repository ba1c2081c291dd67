"""Upkeep of a branch's tables: fewer, larger fragments, and the indexes that the schema declares.

It is a plan like any other and holds nobody up. A table that moved meanwhile is done again, a few
times; after that optimizing gives way and leaves the table to the next run. After a collection
everything is staged anew: what was staged before belonged to nobody, and its files may be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from omnigraph.common.arrow_arrays import SCAN_ROWS
from omnigraph.common.progress import Progress
from omnigraph.errors import PublishContention
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from omnigraph.storage.commit.retry import (
    Attempt,
    RetryPolicy,
    collected_reads,
    publish_with_retry,
)
from omnigraph.storage.core.model import Commit, Head, TablePointer
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.fragment_stats import FragmentStats
from omnigraph.storage.tables.indexes import (
    missing_among,
    missing_indexes,
    undeclared_indexes,
    with_indexes,
    without_indexes,
)
from omnigraph.storage.tables.tables import TableStore

SMALL_FRAGMENT_ROWS = 256 << 10
QUEUED_ROWS = 50_000
"""So many rows are staged again while the writers of this machine wait."""
DELETED_SHARE = 0.1
"""A fragment with a larger share of deleted rows is written again without them."""


@dataclass(frozen=True, slots=True)
class TableUpkeep:
    """What was, or would be, done to one table."""

    fragments_before: int
    fragments_after: int
    rows_rewritten: int = 0
    indexes_built: tuple[str, ...] = ()
    indexes_dropped: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.rows_rewritten or self.indexes_built or self.indexes_dropped) or (
            self.fragments_before != self.fragments_after
        )

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self).items()
        return {key: list(value) if isinstance(value, tuple) else value for key, value in fields}


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What an optimization did; tables that needed nothing are not in it."""

    tables: Mapping[str, TableUpkeep] = field(default_factory=dict)
    commit: Commit | None = None
    dry_run: bool = False
    gave_way: tuple[str, ...] = ()
    """Tables that writers moved every time they were done; the next run will find them."""

    def to_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "tables": {key: done.to_json() for key, done in sorted(self.tables.items())},
            "gave_way": list(self.gave_way),
            "commit": self.commit.to_json() if self.commit else None,
        }


@dataclass(frozen=True, slots=True)
class _Done:
    """A table that was staged: from where, to where, and how."""

    base: TablePointer
    after: TablePointer
    upkeep: TableUpkeep


class _Staged:
    """The tables that one run has staged so far, which go into one commit."""

    def __init__(self) -> None:
        self.done: dict[str, _Done] = {}
        self.pending: set[str] = set()
        """Every table that was staged at some time, until a commit has them."""
        self._epoch = 0

    def keep_valid(self, head: Head) -> None:
        """Forget tables that moved, and all after a collection, which may have deleted files."""
        if head.epoch != self._epoch:
            self.done, self._epoch = {}, head.epoch
        self.done = {k: done for k, done in self.done.items() if head.tables.get(k) == done.base}

    def rows_to_repeat(self, head: Head) -> int:
        """How many rows are in tables that have to be staged again."""
        done = {key: staged.base for key, staged in self.done.items()}
        again = (p for k, p in head.tables.items() if k in self.pending and done.get(k) != p)
        return sum(pointer.rows for pointer in again)


def optimize(
    store: GraphStore,
    branch: str,
    *,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> OptimizeReport:
    """Compact and index every table of a branch that needs it; one commit with no entity change."""
    if dry_run:
        return _preview(store, store.head(branch))
    store.ready_to_write()
    staged, budget = _Staged(), store.publisher.retry_budget

    def is_small(number: int) -> bool:
        return number < budget and staged.rows_to_repeat(store.head(branch)) <= QUEUED_ROWS

    def publish(attempt: Attempt) -> OptimizeReport:
        head = attempt.head()
        staged.keep_valid(head)
        if attempt.number < budget:  # later ones publish what could be staged, and no more
            with collected_reads(store.publisher, head):
                _improve(store, head, staged.done, on_progress)
        staged.pending |= staged.done.keys()
        gave_way = tuple(sorted(staged.pending - staged.done.keys()))
        if not staged.done:
            return OptimizeReport(gave_way=gave_way)
        plan = PublishPlan(
            commit=attempt.commit,
            base=head,
            tables={key: done.after for key, done in staged.done.items()},
            message="optimize",
            direct=False,
        )
        try:
            commit = store.publisher.publish(plan)  # after the plans of others
        except PublishContention as error:
            raise HeadMoved(head, "head") from error
        upkeep = {key: done.upkeep for key, done in staged.done.items()}
        return OptimizeReport(upkeep, commit, gave_way=gave_way)

    try:
        policy = RetryPolicy(2 * budget, queues=is_small)
        return publish_with_retry(store.publisher, branch, publish, policy=policy)
    except PublishContention:
        return OptimizeReport(gave_way=tuple(sorted(staged.pending)))


def _preview(store: GraphStore, head: Head) -> OptimizeReport:
    types = {type_.table_key: type_ for type_ in store.catalog(head.schema).types()}
    foreseen = {
        key: _foreseen(store.tables, pointer.address, types.get(key))
        for key, pointer in sorted(head.tables.items())
    }
    needed = {key: upkeep for key, upkeep in foreseen.items() if upkeep.needed}
    return OptimizeReport(needed, dry_run=True)


def _foreseen(tables: TableStore, version: TableVersion, type_: GraphType | None) -> TableUpkeep:
    """What would be done to a table, without writing anything."""
    fragments = tables.fragments(version)
    rows = {fragment.id: fragment.rows for fragment in fragments}
    fragmented = _fragmented(fragments)
    moved = sum(rows[i] for i in fragmented)
    after = {i: count for i, count in rows.items() if i not in fragmented}
    written = range(0, moved, SCAN_ROWS)
    after |= {-1 - n: min(SCAN_ROWS, moved - start) for n, start in enumerate(written)}
    missing = missing_among(after, tables.index_segments(version), type_) if type_ else []
    return TableUpkeep(
        fragments_before=len(rows),
        fragments_after=len(after),
        rows_rewritten=moved,
        indexes_built=tuple(index.name for index in missing),
        indexes_dropped=tuple(undeclared_indexes(tables, version, type_)) if type_ else (),
    )


def _improve(
    store: GraphStore, head: Head, done: dict[str, _Done], on_progress: Progress | None
) -> None:
    types = {type_.table_key: type_ for type_ in store.catalog(head.schema).types()}
    for number, (key, base) in enumerate(sorted(head.tables.items())):
        if on_progress:
            on_progress(number, len(head.tables))
        if key in done:
            continue
        after, upkeep = _improved(store.tables, base, types.get(key))
        if after.lance != base.lance:
            done[key] = _Done(base, after, upkeep)


def _improved(
    tables: TableStore, base: TablePointer, type_: GraphType | None
) -> tuple[TablePointer, TableUpkeep]:
    """A table in better shape; a plain one, which has no type, gets no indexes."""
    version = base.address
    before = tables.fragments(version)
    fragmented = _fragmented(before)
    unwanted = undeclared_indexes(tables, version, type_) if type_ else []
    if fragmented:
        version = tables.compact(version, fragmented)
    version = without_indexes(tables, version, unwanted)
    missing = missing_indexes(tables, version, type_) if type_ else []
    version = with_indexes(tables, version, missing)
    upkeep = TableUpkeep(
        fragments_before=len(before),
        fragments_after=len(tables.fragments(version)),
        rows_rewritten=sum(fragment.rows for fragment in before if fragment.id in fragmented),
        indexes_built=tuple(index.name for index in missing),
        indexes_dropped=tuple(unwanted),
    )
    return base.at(version), upkeep


def _fragmented(fragments: Sequence[FragmentStats]) -> list[int]:
    small, holed = [], []
    for fragment in fragments:
        if fragment.physical - fragment.rows > DELETED_SHARE * fragment.physical:
            holed.append(fragment.id)
        elif fragment.physical < SMALL_FRAGMENT_ROWS:
            small.append(fragment.id)
    return sorted(holed + small) if len(small) > 1 or holed else []
