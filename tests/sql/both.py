"""The same small tables in a session and in duckdb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

import omnigraph
import omnigraph_sql
from sql.conftest import table

Columns = Mapping[str, Sequence[int | None]]


class Both:
    """A session and a duckdb that must give the same rows."""

    def __init__(self, root: str, tables: Mapping[str, Columns]) -> None:
        self.ours = omnigraph_sql.connect(omnigraph.init(root, "node Unused { k: String? }"))
        self.duckdb = duckdb.connect()
        self.duckdb.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
        for name, columns in tables.items():
            rows = pa.table({k: pa.array(v, pa.int64()) for k, v in columns.items()})
            self.ours.ingest(name, rows.to_reader(), "create")
            self.duckdb.register("given", rows)
            self.duckdb.execute(f"CREATE TABLE {name} AS SELECT * FROM given")

    def agree(self, sql: str) -> None:
        """Both give the same rows, in any order."""
        wanted = sorted(map(repr, self.duckdb.execute(sql).fetchall()))
        found = table(self.ours, sql)
        rows = sorted(
            map(repr, zip(*(column.to_pylist() for column in found.columns), strict=True))
        )
        assert rows == wanted, sql
