"""Rows that are computed when a statement reads them: system tables, results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.errors import OmniGraphError
from omnigraph.tables import StreamDataset, streamed
from omnigraph_sql.datafusion.error_translation import wrap_for_datafusion


@dataclass(frozen=True)
class ComputedRows:
    """A schema, and a function that computes the rows for each scan."""

    schema: pa.Schema
    batches: Callable[[], Iterable[pa.RecordBatch]] = field(repr=False)

    @classmethod
    def of_tuples(
        cls, schema: pa.Schema, rows: Callable[[], Iterable[tuple[Any, ...]]]
    ) -> ComputedRows:
        """Rows given as tuples."""
        return cls(schema, lambda: table_of(schema, rows()).to_batches())

    def provider(self) -> StreamDataset:
        """What DataFusion registers as a table."""
        return streamed(self.schema, self._translated)

    def _translated(self) -> Iterator[pa.RecordBatch]:
        """The batches; a typed error passes through DataFusion and comes out as it was."""
        try:
            yield from self.batches()
        except OmniGraphError as error:
            raise wrap_for_datafusion(error) from error


def table_of(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """A table of rows that are given as tuples."""
    dicts = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(dicts, schema=schema)
