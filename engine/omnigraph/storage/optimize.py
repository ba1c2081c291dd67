"""Upkeep of a branch's tables: fewer, larger fragments, and the indexes that the schema declares.

It is a plan like any other and holds nobody up. A table that moved meanwhile is done again, a few
times; after that optimizing gives way and leaves the table to the next run. After a collection
everything is staged anew: what was staged before belonged to nobody, and its files may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lance import LanceDataset

from omnigraph.errors import PublishContention, StorageError
from omnigraph.schema.catalog import GraphType
from omnigraph.schema.keys import new_ulid
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.indexes import (
    covered_by,
    missing_among,
    missing_indexes,
    unwanted_indexes,
    with_indexes,
    without_indexes,
)
from omnigraph.storage.plan import HeadMoved, PublishPlan
from omnigraph.storage.tables import SCAN_ROWS, Tables, TableVersion
from omnigraph.storage.values import Commit, Head, TablePointer

SMALL_FRAGMENT_ROWS = 256 << 10
DELETED_SHARE = 0.1
"""A fragment with a larger share of deleted rows is written again without them."""

Progress = Callable[[int, int], None]
"""Told how many tables are done, and how many there are."""


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
        return {
            "fragments_before": self.fragments_before,
            "fragments_after": self.fragments_after,
            "rows_rewritten": self.rows_rewritten,
            "indexes_built": list(self.indexes_built),
            "indexes_dropped": list(self.indexes_dropped),
        }


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
    commit_id = new_ulid()
    done: dict[str, _Done] = {}
    needy: set[str] = set()
    for attempt in range(2 * store.publisher.retry_budget):
        head = store.head(branch)
        done = {key: work for key, work in done.items() if head.tables.get(key) == work.base}
        if attempt < store.publisher.retry_budget:
            try:
                _improve(store, head, done, on_progress)
            except StorageError:
                if store.head(branch).epoch == head.epoch:
                    raise
                done = {}
                continue
        needy |= done.keys()
        if not done:
            break
        plan = PublishPlan(
            commit=commit_id,
            base=head,
            tables={key: work.after for key, work in done.items()},
            relies_on=frozenset(),
            message="optimize",
            maintenance=True,
        )
        try:
            commit = store.publisher.publish(plan)
        except PublishContention:
            continue
        except HeadMoved as moved:
            if moved.expired:
                done = {}
            continue
        tables = {key: work.upkeep for key, work in done.items()}
        return OptimizeReport(tables, commit, gave_way=tuple(sorted(needy - done.keys())))
    return OptimizeReport(gave_way=tuple(sorted(needy)))


def _preview(store: GraphStore, head: Head) -> OptimizeReport:
    found = {}
    for type_ in store.catalog(head.schema).types():
        pointer = head.tables[type_.table_key]
        dataset = store.tables.open(TableVersion(pointer.location, pointer.lance))
        upkeep = _foreseen(dataset, type_)
        if upkeep.needed:
            found[type_.table_key] = upkeep
    return OptimizeReport(found, dry_run=True)


def _foreseen(dataset: LanceDataset, type_: GraphType) -> TableUpkeep:
    """What would be done to a table, without writing anything."""
    rows = {f.fragment_id: f.count_rows() for f in dataset.get_fragments()}
    worn = _worn_fragments(dataset)
    moved = sum(rows[i] for i in worn)
    after = {i: count for i, count in rows.items() if i not in worn}
    written = range(0, moved, SCAN_ROWS)
    after |= {-1 - n: min(SCAN_ROWS, moved - start) for n, start in enumerate(written)}
    missing = missing_among(after, covered_by(dataset), type_)
    return TableUpkeep(
        fragments_before=len(rows),
        fragments_after=len(after),
        rows_rewritten=moved,
        indexes_built=tuple(index.name for index in missing),
        indexes_dropped=tuple(unwanted_indexes(dataset, type_)),
    )


def _improve(
    store: GraphStore, head: Head, done: dict[str, _Done], on_progress: Progress | None
) -> None:
    types = store.catalog(head.schema).types()
    for number, type_ in enumerate(types):
        key = type_.table_key
        if on_progress:
            on_progress(number, len(types))
        if key in done or key not in head.tables:
            continue
        base = head.tables[key]
        after, upkeep = _improved(store.tables, base, type_)
        if after.lance != base.lance:
            done[key] = _Done(base, after, upkeep)


def _improved(
    tables: Tables, base: TablePointer, type_: GraphType
) -> tuple[TablePointer, TableUpkeep]:
    version = TableVersion(base.location, base.lance)
    dataset = tables.open(version)
    worn = _worn_fragments(dataset)
    unwanted = unwanted_indexes(dataset, type_)
    version = without_indexes(tables, compacted(tables, version, worn), unwanted)
    missing = missing_indexes(tables.open(version), type_)
    version = with_indexes(tables, version, missing)
    upkeep = TableUpkeep(
        fragments_before=len(dataset.get_fragments()),
        fragments_after=len(tables.open(version).get_fragments()),
        rows_rewritten=sum(dataset.get_fragment(i).count_rows() for i in worn),
        indexes_built=tuple(index.name for index in missing),
        indexes_dropped=tuple(unwanted),
    )
    return replace(base, lance=version.lance), upkeep


def compacted(tables: Tables, version: TableVersion, worn: list[int]) -> TableVersion:
    """A version of the same rows in which those of some fragments are in new, full ones."""
    if not worn:
        return version
    dataset = tables.open(version)
    reader = dataset.scanner(
        fragments=[dataset.get_fragment(i) for i in worn], blob_handling="all_binary"
    ).to_reader()
    return tables.rewrite(version, worn, reader)


def _worn_fragments(dataset: LanceDataset) -> list[int]:
    small, holed = [], []
    for fragment in dataset.get_fragments():
        if fragment.num_deletions > DELETED_SHARE * fragment.physical_rows:
            holed.append(fragment.fragment_id)
        elif fragment.physical_rows < SMALL_FRAGMENT_ROWS:
            small.append(fragment.fragment_id)
    return sorted(holed + small) if len(small) > 1 or holed else []
