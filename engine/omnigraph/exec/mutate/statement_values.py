"""The values of one execution, and how they are stored in a property."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from omnigraph.errors import LoadError
from omnigraph.loading.json_columns import json_column
from omnigraph.loading.json_property import ValueProblem, check_value
from omnigraph.query.logical.expressions import Literal, Now, Param, ValueExpr
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.catalog import EdgeType, NodeType, Property
from omnigraph.storage.core.model import now

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StatementValues:
    """What parameters and `now()` stand for, the same for every statement."""

    params: Mapping[str, Any]
    now: datetime

    @classmethod
    def at_once(cls, params: Mapping[str, Any]) -> StatementValues:
        return cls(params, now())

    def of(self, value: ValueExpr) -> Any:  # noqa: ANN401
        """A Python value; none for null."""
        match value:
            case Literal():
                return value.value
            case Param():
                return self.params[value.name]
            case Now():
                return self.now


def stored_column(value: Any, owner: NodeType | EdgeType, prop: Property) -> pa.Array:  # noqa: ANN401
    """One value as the column of its property holds it.

    Whole numbers widen to floats and narrow where they fit; a float is never made whole.
    """
    if value is None:
        return pa.nulls(1, arrow_type(prop.type))
    plain = _plain(value)
    try:
        check_value(plain, prop.type)
    except ValueProblem as wrong:
        raise LoadError(
            wrong.code,
            f"{owner.name}.{prop.name} is a {prop.type}: {wrong.reason}",
            type_name=owner.name,
            field=prop.name,
        ) from None
    return json_column([plain], prop.type)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """The value in JSON's terms, with days and microseconds as numbers."""
    match value:
        case datetime():
            return (value - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
