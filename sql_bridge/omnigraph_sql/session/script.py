"""A text of several statements, prepared as one: one publish, and the result of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.access_guard import AccessRequest
from omnigraph_sql.frontend.parser import Parsed
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.session.session_statements import is_set
from omnigraph_sql.session.statement import Statement

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


class Script:
    """Behaves like a statement. One that writes anything gives a count, as an update does."""

    def __init__(self, connection: Connection, sql: str, statements: Sequence[Parsed]) -> None:
        self.connection = connection
        self.sql = sql
        self._statements = [Statement(connection, parsed) for parsed in statements]
        self.is_update = any(
            statement.is_update and not is_set(parsed.tree)
            for statement, parsed in zip(self._statements, statements, strict=True)
        )

    @property
    def changes(self) -> bool:
        """Whether one of them changes something."""
        return self.is_update or any(statement.changes for statement in self._statements)

    @property
    def target(self) -> str:
        """The branch they write to."""
        return self.connection.catalog

    @property
    def touched(self) -> frozenset[AccessRequest]:
        """What the last statement reads, whose rows are the result."""
        return self._statements[-1].touched

    @property
    def result_schema(self) -> pa.Schema | None:
        """The columns of the last statement, unless something is written."""
        return None if self.is_update else self._statements[-1].result_schema

    @property
    def parameter_schema(self) -> pa.Schema:
        """Empty: parameters belong to a single statement."""
        if any(len(statement.parameter_schema) for statement in self._statements):
            raise InvalidInput(
                "a text of several statements takes no parameters", hint="Send them one at a time."
            )
        return pa.schema([])

    def execute(self, params: Params = None) -> pa.RecordBatchReader | int:
        """Run them all as one publish."""
        return self.connection.execute(self.sql, params)

    def single_row(self, params: Params = None) -> pa.Table | None:  # noqa: ARG002
        return None

    def pinned(self) -> str:
        """The moment that the last statement reads."""
        return self._statements[-1].pinned()

    @property
    def is_scan(self) -> bool:
        """Never: all of it must run."""
        return False

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:
        """The result is read whole."""
        return 1

    def read_slice(self, index: int, of: int, params: Params = None) -> pa.RecordBatchReader:
        """The rows of the last statement."""
        if (index, of) != (0, 1) or self.is_update:
            raise InvalidInput("this result cannot be read in slices", hint="Read it whole.")
        rows = self.execute(params)
        assert not isinstance(rows, int)
        return rows
