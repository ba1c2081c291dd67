"""Rows of a match in order: few, or the best few, in numpy; many in DataFusion, which spills.

The order is that of `order`. DataFusion gets the codes of the values in the order of
docs/design/query-language.md#5-ordering, null apart, and the
ids that break ties, so that nothing is left to how it compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from omnigraph.common.arrow_arrays import chunks
from omnigraph.common.stream_dataset import StreamDataset
from omnigraph.errors import OmniGraphError, StorageError
from omnigraph.exec.evaluate.sort_keys import Sorter, SortKey, SortOrder, sortable
from omnigraph.exec.graph.bindings import Bindings

if TYPE_CHECKING:
    from datafusion import DataFrame

SORTED_IN_MEMORY = 1_000_000
"""Up to so many rows, numpy needs no more memory than a sort that spills."""
SORT_BYTES = 256 << 20
"""What one sort may hold in memory; the rest goes to temporary files."""
BATCH = 1 << 16


def in_order(parts: Iterator[Bindings], order: SortOrder, limit: int | None) -> Iterator[Bindings]:
    """The rows in order, as many as the limit lets through."""
    if limit is not None and limit <= SORTED_IN_MEMORY:
        return _in_memory(parts, order, limit)
    first: list[Bindings] = []
    buffered = 0
    for part in parts:
        first.append(part)
        buffered += part.count
        if buffered > SORTED_IN_MEMORY:
            break
    if buffered <= SORTED_IN_MEMORY or _has_lists(first, order.keys):
        return _in_memory(chain(first, parts), order, limit)
    return first_rows(_by_datafusion(chain(first, parts), order), limit)


def first_rows(rows: Iterator[Bindings], limit: int | None) -> Iterator[Bindings]:
    """Rows up to a limit; no more are made than that takes."""
    left = limit
    while left is None or left > 0:
        part = next(rows, None)
        if part is None:
            return
        yield part if left is None or part.count <= left else part.slice(0, left)
        left = None if left is None else left - part.count


def _in_memory(
    parts: Iterable[Bindings], order: SortOrder, limit: int | None
) -> Iterator[Bindings]:
    sorter = Sorter(order, limit)
    for part in parts:
        sorter.add(part)
    return sorter.finish().chunks()


def _has_lists(parts: Sequence[Bindings], keys: Sequence[SortKey]) -> bool:
    """Whether a key has no codes that compare across batches."""
    one = next(part for part in parts if part.count).slice(0, 1)
    return any(pa.types.is_nested(key.column(one).type) for key in keys)


# --------------------------------------------------------------------------- DataFusion


@dataclass
class _Scanner:
    """Batches that are made while DataFusion reads them, once; nothing is read ahead."""

    projected_schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    failure: OmniGraphError | None = None

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.batches
        except OmniGraphError as error:
            self.failure = error
            raise


def _by_datafusion(parts: Iterable[Bindings], order: SortOrder) -> Iterator[Bindings]:
    batches = _batches(parts, order)
    head = next(batches)
    scanner = _Scanner(head.schema, chain([head], batches))
    source = StreamDataset(head.schema, lambda *_: scanner)
    names = [name for name in head.schema.names if name.startswith("$")]
    try:
        stream = _sorted(source, order).select(*(f'"{name}"' for name in names))
        for table in chunks((batch.to_pyarrow() for batch in stream.execute_stream()), BATCH):
            yield Bindings(
                {name[1:]: table.column(name).to_numpy() for name in names}, table.num_rows
            )
    except OmniGraphError:
        raise
    except Exception as error:
        # DataFusion raises nothing more telling.
        raise scanner.failure or StorageError(
            f"the rows could not be sorted: {error}",
            hint="Make room where temporary files go (TMPDIR), or add a limit.",
        ) from error


def _sorted(source: StreamDataset, order: SortOrder) -> DataFrame:
    # Loading it takes a quarter of a second, which only a large sort is worth.
    from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext, col

    runtime = RuntimeEnvBuilder().with_disk_manager_os().with_greedy_memory_pool(SORT_BYTES)
    # One sorter has all the memory: shared out, some would run short while others have plenty.
    # Merging needs a batch of each sorted run, so it has a part set aside, and batches are small.
    settings = {
        "datafusion.execution.target_partitions": "1",
        "datafusion.execution.batch_size": "2048",
        "datafusion.execution.sort_spill_reservation_bytes": str(SORT_BYTES // 4),
    }
    context = SessionContext(SessionConfig(settings), runtime)
    columns = [
        col(f"key{number}").sort(ascending=not key.descending, nulls_first=not key.descending)
        for number, key in enumerate(order.keys)
    ]
    columns += [col(f"tie{number}").sort(ascending=True) for number in range(len(order.ties))]
    return context.read_table(source).sort(*columns)


def _batches(parts: Iterable[Bindings], order: SortOrder) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for rows in part.chunks(BATCH):
            if rows.count:
                yield from _small_batches(rows, order)


def _small_batches(rows: Bindings, order: SortOrder) -> Iterator[pa.RecordBatch]:
    batch = _batch(rows, order)
    if batch.nbytes <= SORT_BYTES // 16 or rows.count == 1:
        yield batch
        return
    half = rows.count // 2
    for part in (rows.slice(0, half), rows.slice(half, rows.count)):
        yield from _small_batches(part, order)


def _batch(rows: Bindings, order: SortOrder) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {
        f"key{number}": _comparable(key.column(rows)) for number, key in enumerate(order.keys)
    }
    for number, (name, entities) in enumerate(order.ties):
        columns[f"tie{number}"] = _comparable(entities.ids(rows[name]))
    for name, handles in rows.columns.items():
        columns[f"${name}"] = pa.array(handles.astype(np.int64, copy=False))
    return pa.RecordBatch.from_pydict(columns)


def _comparable(array: pa.Array) -> pa.Array:
    """Values that DataFusion orders as docs/design/query-language.md#5-ordering does.

    Text by its bytes, others as integers.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return array.cast(pa.string())
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(sortable(array), mask=nulls)
