"""The Python database interface (PEP 249) over a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.sql_types import sql_name
from omnigraph_sql.resolve.parameter_types import Params

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"


class Cursor:
    """Runs statements and fetches their rows as tuples, or as Arrow."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.rowcount = -1
        self._reader: pa.RecordBatchReader | None = None
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._closed = False

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name and type of each column, in the form of the standard; none without rows."""
        if self._reader is None:
            return None
        return [
            (f.name, sql_name(f.type), None, None, None, None, f.nullable)
            for f in self._reader.schema
        ]

    def execute(self, sql: str, params: Params = None) -> Cursor:
        """Run a text; the rows of its last statement can then be fetched."""
        self._require_open()
        result = self.connection.execute(sql, params)
        if isinstance(result, int):
            self._reader, self._rows, self.rowcount = None, iter(()), result
        else:
            self._reader, self._rows, self.rowcount = result, _tuples(result), -1
        return self

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> Cursor:
        """Run a statement that writes once for each row of parameters; in one commit."""
        self._require_open()
        given = list(rows)
        self._reader, self._rows, self.rowcount = None, iter(()), 0
        if given:
            columns = [pa.array(list(column)) for column in zip(*given, strict=True)]
            names = [str(number) for number in range(1, len(columns) + 1)]
            batch = pa.RecordBatch.from_arrays(columns, names=names)
            result = self.connection.execute(sql, batch)
            self.rowcount = result if isinstance(result, int) else -1
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or none."""
        self._require_rows()
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Some of the next rows."""
        self._require_rows()
        count = self.arraysize if size is None else size
        return [row for _, row in zip(range(count), self._rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rest of the rows."""
        self._require_rows()
        return list(self._rows)

    def fetch_arrow_table(self) -> pa.Table:
        """The rest of the rows as a table; do not mix with the fetching of tuples."""
        return self._require_rows().read_all()

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        """The rows as a stream; do not mix with the fetching of tuples."""
        return self._require_rows()

    def close(self) -> None:
        """Discard the result."""
        self._closed = True
        self._reader, self._rows = None, iter(())

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Has no effect here."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Has no effect here."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._require_rows()
        return self._rows

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidInput("the cursor is closed", hint="Make another one.")

    def _require_rows(self) -> pa.RecordBatchReader:
        self._require_open()
        if self._reader is None:
            raise InvalidInput("there are no rows to fetch", hint="Run a query first.")
        return self._reader


def _tuples(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
