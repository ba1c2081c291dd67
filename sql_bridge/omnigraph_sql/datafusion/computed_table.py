"""Rows that are computed when a statement reads them: system tables, results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    def of_dicts(
        cls, schema: pa.Schema, rows: Callable[[], Iterable[Mapping[str, Any]]]
    ) -> ComputedRows:
        """Rows given as dictionaries."""
        return cls(schema, lambda: [pa.RecordBatch.from_pylist(list(rows()), schema=schema)])

    def provider(self) -> Any:  # noqa: ANN401
        """What DataFusion registers as a table."""
        return _StreamedDataset(self)


class _StreamedDataset(pads.Dataset):  # type: ignore[misc]
    """A data set of one fragment, computed while it is read."""

    def __init__(self, rows: ComputedRows) -> None:
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        return self._rows.schema

    def get_fragments(self, filter: Any = None) -> Iterator[_Stream]:  # noqa: ANN401, A002
        yield _Stream(self._rows)

    def scanner(self, **options: Any) -> pads.Scanner:  # noqa: ANN401
        return _Stream(self._rows).scanner(self._rows.schema, **options)


@dataclass(frozen=True)
class _Stream:
    rows: ComputedRows

    def scanner(
        self,
        schema: pa.Schema,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: ANN401, A002
        batch_size: int | None = None,
    ) -> pads.Scanner:
        if isinstance(filter, pa.Scalar):  # DataFusion gives a constant as a plain value
            filter = pc.scalar(filter)  # noqa: A001
        return pads.Scanner.from_batches(
            self._batches(),
            schema=self.rows.schema,
            columns=None if columns is None else list(columns),
            filter=filter,
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The batches; a typed error passes through DataFusion and comes out as it was."""
        try:
            yield from self.rows.batches()
        except OmniGraphError as error:
            raise wrap_for_datafusion(error) from error
