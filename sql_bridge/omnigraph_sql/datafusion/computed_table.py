"""Rows that are made when a statement reads them: system tables, results of graph functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.errors import OmniGraphError
from omnigraph.tables import streamed
from omnigraph_sql.datafusion.error_translation import wrap_for_datafusion


@dataclass(frozen=True)
class ComputedRows:
    """A schema and what makes the rows; every scan makes them anew."""

    schema: pa.Schema
    batches: Callable[[], Iterable[pa.RecordBatch]] = field(repr=False)

    def provider(self) -> Any:  # noqa: ANN401
        """What DataFusion registers as a table."""
        return streamed(self.schema, self._translated)

    def _translated(self) -> Iterator[pa.RecordBatch]:
        """The batches; an error of ours passes through DataFusion and comes out as it was."""
        try:
            yield from self.batches()
        except OmniGraphError as error:
            raise wrap_for_datafusion(error) from error
