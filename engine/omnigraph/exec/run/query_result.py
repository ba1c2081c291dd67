"""Results: Arrow that streams, and JSON rows.

Their shapes are docs/design/query-language.md#10-execution-and-json-rows.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.common.arrow_to_python import python_values
from omnigraph.common.json_values import json_value
from omnigraph.errors import InvalidInput


@dataclass(frozen=True)
class QueryResult:
    """The rows of a read. Nothing runs until they are read; reading again runs it again."""

    schema: pa.Schema
    commit: str
    query_name: str
    branch: str
    batches: Callable[[], Iterator[pa.RecordBatch]] = field(repr=False)

    def reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def to_arrow(self) -> pa.Table:
        """All rows as one table."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> Any:  # noqa: ANN401
        """All rows as a pandas DataFrame."""
        _imported("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:  # noqa: ANN401
        """All rows as a polars DataFrame."""
        polars = _imported("polars")
        self._require_unique_names()
        return polars.from_arrow(self.to_arrow())

    def rows(self) -> list[dict[str, Any]]:
        """All rows as JSON objects; column names must differ."""
        return [row for batch in self.json_batches() for row in batch]

    def json_batches(self) -> Iterator[list[dict[str, Any]]]:
        """The rows as JSON objects, some at a time; column names must differ."""
        self._require_unique_names()
        names = self.schema.names
        for batch in self.batches():
            columns = [json_values(array) for array in batch.columns]
            yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """The envelope of docs/design/query-language.md#10-execution-and-json-rows."""
        rows = self.rows()
        return {
            "query_name": self.query_name,
            "target": {"branch": self.branch, "snapshot": self.commit},
            "row_count": len(rows),
            "columns": list(self.schema.names),
            "rows": rows,
            "graph_commit_id": self.commit,
        }

    def _require_unique_names(self) -> None:
        names = self.schema.names
        if len(set(names)) < len(names):
            twice = [name for name, count in Counter(names).items() if count > 1]
            raise InvalidInput(
                f"two columns are called {twice[0]!r}",
                hint=f"Give one of them another name: `{twice[0]} as …`.",
                details={"columns": list(self.schema.names)},
            )


def json_values(array: pa.Array) -> list[Any]:
    """A column as JSON keeps it."""
    type_ = array.type
    values = python_values(array)
    if pa.types.is_string(type_) or pa.types.is_boolean(type_):
        return values
    if pa.types.is_integer(type_) and type_.bit_width <= 32:
        return values
    return [json_value(value) for value in values]


def _imported(package: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InvalidInput(
            f"{package} is not installed", hint=f"Run `pip install {package}`."
        ) from error
