"""A statement: parsed and resolved once, run any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql import writing
from omnigraph_sql.parsing import Parsed
from omnigraph_sql.reading import read

if TYPE_CHECKING:
    from omnigraph_sql.connection import Connection


class Statement:
    """One statement of a session."""

    def __init__(self, connection: Connection, parsed: Parsed) -> None:
        self.connection = connection
        self.parsed = parsed
        self.sql = parsed.text

    @property
    def is_update(self) -> bool:
        """Whether it changes something and gives a count instead of rows."""
        return not isinstance(self.parsed.tree, exp.Query)

    def execute(self, params: object = None) -> pa.RecordBatchReader | int:
        """Its rows, or how many rows it changed."""
        if self.is_update:
            return writing.run(self.connection, self.parsed.tree.copy(), params)
        return read(self.connection, self.parsed.tree, params)
