"""The Arrow schema of a result."""

from __future__ import annotations

import pyarrow as pa

from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.schema.model.arrow_schema import arrow_type


def result_schema(plan: ReadPlan) -> pa.Schema:
    """One field per column; names may repeat (docs/design/query-language.md#4-returning)."""
    return pa.schema(
        [pa.field(c.name, arrow_type(c.type), nullable=c.type.nullable) for c in plan.columns]
    )
