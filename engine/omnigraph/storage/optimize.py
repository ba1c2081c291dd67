"""Upkeep of a branch's tables: fewer, larger fragments, and indexes that cover them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lance import LanceDataset

from omnigraph.errors import PublishContention
from omnigraph.schema.catalog import GraphType
from omnigraph.schema.keys import new_ulid
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.indexes import missing_indexes, with_indexes
from omnigraph.storage.plan import HeadMoved, PublishPlan
from omnigraph.storage.reading import TableVersion
from omnigraph.storage.tables import Tables
from omnigraph.storage.values import Commit, Head, TablePointer

SMALL_FRAGMENT_ROWS = 256 << 10
DELETED_SHARE = 0.1
"""A fragment with a larger share of deleted rows is written again without them."""

Progress = Callable[[int, int], None]
"""Told how many tables are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class TableUpkeep:
    """What was done to one table."""

    fragments_before: int
    fragments_after: int
    indexes_built: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What an optimization did; tables that needed nothing are not in it."""

    tables: Mapping[str, TableUpkeep] = field(default_factory=dict)
    commit: Commit | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "tables": {
                key: {
                    "fragments_before": done.fragments_before,
                    "fragments_after": done.fragments_after,
                    "indexes_built": list(done.indexes_built),
                }
                for key, done in self.tables.items()
            },
            "commit": self.commit.to_json() if self.commit else None,
        }


def optimize(
    store: GraphStore, branch: str, *, on_progress: Progress | None = None
) -> OptimizeReport:
    """Compact and index every table of a branch that needs it; one commit with no entity change."""
    store.ready_to_write()
    commit_id = new_ulid()
    done: dict[str, tuple[TablePointer, TablePointer, TableUpkeep]] = {}
    for _ in range(store.publisher.retry_budget):
        head = store.head(branch)
        done = {key: work for key, work in done.items() if head.tables.get(key) == work[0]}
        _improve(store, head, done, on_progress)
        if not done:
            return OptimizeReport()
        plan = PublishPlan(
            commit=commit_id,
            base=head,
            tables={key: after for key, (_, after, _) in done.items()},
            relies_on=frozenset(),
            message="optimize",
        )
        try:
            commit = store.publisher.publish(plan)
        except HeadMoved:
            continue
        return OptimizeReport({key: work[2] for key, work in done.items()}, commit)
    raise PublishContention(
        f"writers of {branch} were faster every time; nothing was changed",
        hint="Try again when fewer writers are busy.",
    )


def _improve(
    store: GraphStore,
    head: Head,
    done: dict[str, tuple[TablePointer, TablePointer, TableUpkeep]],
    on_progress: Progress | None,
) -> None:
    types = {type_.table_key: type_ for type_ in store.catalog(head.schema).types()}
    for number, (key, base) in enumerate(sorted(head.tables.items())):
        if on_progress:
            on_progress(number, len(head.tables))
        if key in done:
            continue
        after, upkeep = _improved(store.tables, base, types.get(key))
        if after.lance != base.lance:
            done[key] = (base, after, upkeep)


def _improved(
    tables: Tables, base: TablePointer, type_: GraphType | None
) -> tuple[TablePointer, TableUpkeep]:
    """A table in better shape; a plain one, which has no type, gets no indexes."""
    version = TableVersion(base.location, base.lance)
    before = len(tables.open(version).get_fragments())
    version = compacted(tables, version)
    missing = missing_indexes(tables.open(version), type_) if type_ else []
    version = with_indexes(tables, version, missing)
    after = len(tables.open(version).get_fragments())
    upkeep = TableUpkeep(before, after, tuple(index.name for index in missing))
    return replace(base, lance=version.lance), upkeep


def compacted(tables: Tables, version: TableVersion) -> TableVersion:
    """A version of the same rows in fewer fragments; the same one when there is nothing to gain."""
    dataset = tables.open(version)
    worn = _worn_fragments(dataset)
    if not worn:
        return version
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
