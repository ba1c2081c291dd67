"""Rows that are made as they are read, as the pyarrow data set that DataFusion takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

ScanParts = Callable[[Sequence[Any], list[str], Any], Any]
"""Gives the scanner of some parts: of the named columns, and of the rows that pass a filter."""


class StreamDataset(pads.Dataset):  # type: ignore[misc]
    """A schema and what scans some of the parts; DataFusion reads the parts side by side."""

    def __init__(self, schema: pa.Schema, scan: ScanParts, parts: Sequence[Any] = (None,)) -> None:
        self._schema = schema
        self._scan = scan
        self._parts = parts

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def get_fragments(self, filter: Any = None) -> Iterator[_Part]:  # noqa: ANN401, A002
        return (_Part(self, part) for part in self._parts)

    def scanner(self, **options: Any) -> Any:  # noqa: ANN401
        return self.scan(self._parts, **options)

    def scan(
        self,
        parts: Sequence[Any],
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: ANN401, A002
        batch_size: int | None = None,
    ) -> Any:  # noqa: ANN401
        if isinstance(filter, pa.Scalar):  # DataFusion gives a constant as a plain value
            filter = pc.scalar(filter)  # noqa: A001
        return self._scan(parts, list(self._schema.names if columns is None else columns), filter)


@dataclass(frozen=True)
class _Part:
    dataset: StreamDataset
    part: Any

    def scanner(self, schema: pa.Schema, **options: Any) -> Any:  # noqa: ANN401
        return self.dataset.scan([self.part], **options)


def streamed(schema: pa.Schema, batches: Callable[[], Iterable[pa.RecordBatch]]) -> StreamDataset:
    """A data set of one part, whose batches every scan makes anew."""

    def scan(parts: Sequence[Any], columns: list[str], filter: Any) -> pads.Scanner:  # noqa: ANN401, A002
        return pads.Scanner.from_batches(batches(), schema=schema, columns=columns, filter=filter)

    return StreamDataset(schema, scan)
