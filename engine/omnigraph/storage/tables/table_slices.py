"""A type's rows in slices that several processes read side by side, each without the manifest.

A slice names one immutable table version and some of its fragments, so reading it again, or in
another process after later commits, gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import lance
import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph.storage.core.layout import normalize_root
from omnigraph.storage.core.object_store import storage_options
from omnigraph.storage.core.read_errors import guarded, read_error
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore

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
    sizes = {f.fragment_id: f.count_rows() for f in tables.open(version).get_fragments()}
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
    dataset = tables.open(version)
    try:
        reader = dataset.scanner(
            columns=list(part.columns),
            filter=part.condition,
            fragments=[f for f in dataset.get_fragments() if f.fragment_id in part.fragments],
            batch_size=BATCH_ROWS,
            blob_handling="all_binary",
        ).to_reader()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise read_error(version, error) from error
    for batch in guarded(reader, version):
        arrays = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(batch.columns, part.schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=part.schema)


@lru_cache(maxsize=OPEN_ROOTS)
def door(root: str, options: tuple[tuple[str, str], ...]) -> TableStore:
    """The tables of a graph for a process that was told where to look and needs no manifest."""
    return TableStore(normalize_root(root), storage_options(dict(options)), lance.Session())
