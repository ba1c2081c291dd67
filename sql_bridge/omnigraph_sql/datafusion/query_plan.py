"""A query that DataFusion has planned; what other packages see of its data frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from datafusion import DataFrame, SessionContext
from datafusion.record_batch import RecordBatchStream

from omnigraph.errors import Corruption, OmniGraphError
from omnigraph.tables import ReadableTable
from omnigraph_sql.datafusion.error_translation import datafusion_errors, explained


@dataclass(frozen=True)
class QueryPlan:
    """A plan that can be run any number of times."""

    frame: DataFrame = field(repr=False)
    context: SessionContext = field(repr=False)
    tables: Mapping[str, ReadableTable] = field(repr=False)
    """The tables that are registered, by name."""

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

    def explained(self, error: BaseException) -> OmniGraphError:
        """What ended its stream; damage is told with the file, which is looked for then."""
        result = explained(error)
        if not isinstance(result, Corruption) or "file" in result.details:
            return result
        text = str(self.frame.logical_plan())
        read = [table for name, table in list(self.tables.items()) if name in text]
        return next((found for table in read if (found := table.damage())), result)

    def stream(self) -> RecordBatchStream:
        """Start it; its batches are pulled one by one."""
        with datafusion_errors():
            return self.frame.execute_stream()

    def read_all(self) -> pa.Table:
        """All of its rows, at once."""
        with datafusion_errors():
            return self.frame.to_arrow_table()
