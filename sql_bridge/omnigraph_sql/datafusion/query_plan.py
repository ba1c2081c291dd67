"""A query that DataFusion has planned; what other packages see of its data frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
from datafusion import DataFrame, SessionContext
from datafusion.record_batch import RecordBatchStream

from omnigraph_sql.datafusion.error_translation import datafusion_errors


@dataclass(frozen=True)
class QueryPlan:
    """A plan that can be run any number of times."""

    frame: DataFrame = field(repr=False)
    context: SessionContext = field(repr=False)

    def schema(self, *, unify: bool) -> pa.Schema:
        """The columns of its rows.

        Before it is optimized, DataFusion takes the type of a CASE from its first branch and that
        of a UNION from its first side; with `unify`, the unified types are looked up afterwards.
        """
        with datafusion_errors():
            schema = self.frame.schema()
            if not unify:
                return schema
            optimized = self.frame.optimized_logical_plan()
            unified = self.context.create_dataframe_from_logical_plan(optimized).schema()
        return pa.schema(
            after.with_nullable(before.nullable or after.nullable)
            for before, after in zip(schema, unified, strict=True)
        )

    def stream(self) -> RecordBatchStream:
        """Start it; its batches are pulled one by one."""
        with datafusion_errors():
            return self.frame.execute_stream()

    def read_all(self) -> pa.Table:
        """All of its rows, at once."""
        with datafusion_errors():
            return self.frame.to_arrow_table()
