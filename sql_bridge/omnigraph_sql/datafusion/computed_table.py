"""Rows that are computed when a statement reads them: system tables, results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from omnigraph.errors import OmniGraphError
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

    def provider(self) -> Any:  # noqa: ANN401
        """What DataFusion registers as a table."""
        return _ComputedDataset(self)


def table_of(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """A table of rows that are given as tuples."""
    dicts = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(dicts, schema=schema)


class _ComputedDataset(pads.Dataset):  # type: ignore[misc]
    """A data set that is its only fragment, computed while it is read."""

    def __init__(self, rows: ComputedRows) -> None:
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def get_fragments(self, filter: Any = None) -> Iterator[_ComputedDataset]:  # noqa: ANN401, A002
        yield self

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: ANN401, A002
        batch_size: int | None = None,
    ) -> pads.Scanner:
        if isinstance(filter, pa.Scalar):  # DataFusion gives a constant as a plain value
            filter = pc.scalar(filter)  # noqa: A001
        return pads.Scanner.from_batches(
            self._batches(),
            schema=self._rows.schema,
            columns=None if columns is None else list(columns),
            filter=filter,
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The batches; a typed error passes through DataFusion and comes out as it was."""
        try:
            yield from self._rows.batches()
        except OmniGraphError as error:
            raise wrap_for_datafusion(error) from error
