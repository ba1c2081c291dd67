"""A type's rows in slices that several processes read side by side, each without the manifest.

A slice names one immutable table version and some of its fragments, so reading it again, or in
another process after later commits, gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.storage.core.durability import Durability
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.object_store import storage_options
from omnigraph.storage.core.read_errors import batch_of
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore, new_session

BATCH_ROWS = 1 << 16
OPEN_ROOTS = 8
"""Roots whose tables a reading process keeps open."""


@dataclass(frozen=True)
class TableSlice:
    """Some fragments of one table version, and what to read of them."""

    root: str
    location: str
    lance: int
    fragments: tuple[int, ...]
    rows: int
    """How many rows the fragments hold, before the condition."""
    columns: tuple[str, ...]
    """What the version calls the columns that are read."""
    condition: str | None
    schema: pa.Schema
    """The rows as they are given."""

    @property
    def version(self) -> TableVersion:
        return TableVersion(self.location, self.lance)


def whole_table(
    root: str,
    version: TableVersion,
    columns: Sequence[str],
    condition: str | None,
    schema: pa.Schema,
) -> TableSlice:
    """What to read of a version, to be split."""
    location, number = version.location, version.lance
    return TableSlice(root, location, number, (), 0, tuple(columns), condition, schema)


def split(
    tables: TableStore, whole: TableSlice, at_most: int, *, since: TableVersion | None = None
) -> list[TableSlice]:
    """What is read of a version in at most so many slices of about equal size; none if it is empty.

    With `since`, only rows of fragments that this version does not have.
    """
    if at_most < 1:
        raise InvalidInput(
            f"the number of slices must be at least 1, not {at_most}", hint="Ask for one or more."
        )
    sizes = {f.id: f.rows for f in tables.fragments(whole.version, since=since)}
    return [
        replace(whole, fragments=tuple(sorted(group)), rows=sum(sizes[f] for f in group))
        for group in balanced(sizes, at_most)
    ]


def balanced(sizes: Mapping[int, int], at_most: int) -> list[list[int]]:
    """Fragments in groups: the largest first, each to the group that has least."""
    groups: list[list[int]] = [[] for _ in range(min(at_most, len(sizes)))]
    filled = [0] * len(groups)
    for fragment in sorted(sizes, key=lambda f: (-sizes[f], f)):
        least = filled.index(min(filled))
        groups[least].append(fragment)
        filled[least] += sizes[fragment]
    return groups


def read_slice(
    part: TableSlice, options: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a slice, in any process that reaches the store."""
    tables = tables_at(part.root, tuple(sorted((options or {}).items())))
    for batch in tables.scan(
        part.version,
        columns=part.columns,
        condition=part.condition,
        fragments=part.fragments,
        batch_rows=BATCH_ROWS,
    ):
        yield batch_of(batch.columns, part.schema)


@lru_cache(maxsize=OPEN_ROOTS)
def tables_at(
    root: str, options: tuple[tuple[str, str], ...], durability: Durability | None = None
) -> TableStore:
    """The tables of a graph for a process that knows where they are and needs no manifest."""
    root = normalize_root(root)
    sync = FileSync(root, durability)
    return TableStore(root, storage_options(dict(options)), new_session(), sync)
