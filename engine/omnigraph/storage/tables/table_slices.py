"""A type's rows in slices that several processes read side by side, each without the manifest.

A slice names one immutable table version and some of its fragments, so reading it again, or in
another process after later commits, gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.object_store import storage_options
from omnigraph.storage.core.read_errors import with_schema
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.fragment_stats import FragmentStats
from omnigraph.storage.tables.tables import TableStore, new_session

BATCH_ROWS = 1 << 16
OPEN_ROOTS = 8
"""Roots whose doors a reading process keeps open."""


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


def split(
    tables: TableStore,
    root: str,
    version: TableVersion,
    columns: Sequence[str],
    condition: str | None,
    schema: pa.Schema,
    at_most: int,
) -> list[TableSlice]:
    """A table version in at most so many slices of about equal size; none if it is empty."""
    if at_most < 1:
        raise InvalidInput(f"{at_most} slices are not possible", hint="Ask for one or more.")
    fragments = tables.fragments(version)
    return slices_of(root, version, fragments, columns, condition, schema, at_most)


def slices_of(
    root: str,
    version: TableVersion,
    fragments: Sequence[FragmentStats],
    columns: Sequence[str],
    condition: str | None,
    schema: pa.Schema,
    at_most: int,
) -> list[TableSlice]:
    """The same for some fragments of a version."""
    sizes = {fragment.id: fragment.rows for fragment in fragments}
    return [
        TableSlice(
            root,
            version.location,
            version.lance,
            tuple(sorted(group)),
            sum(sizes[fragment] for fragment in group),
            tuple(columns),
            condition,
            schema,
        )
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
    tables = door(part.root, tuple(sorted((options or {}).items())))
    version = TableVersion(part.location, part.lance)
    for batch in tables.scan(
        version,
        columns=part.columns,
        condition=part.condition,
        fragments=part.fragments,
        batch_rows=BATCH_ROWS,
    ):
        yield with_schema(batch, part.schema)


@lru_cache(maxsize=OPEN_ROOTS)
def door(root: str, options: tuple[tuple[str, str], ...]) -> TableStore:
    """The tables of a graph for a process that was told where to look and needs no manifest."""
    return TableStore(normalize_root(root), storage_options(dict(options)), new_session())
