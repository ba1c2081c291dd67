"""The graph as it would be after a write: what the rules are checked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph.common.spilled_rows import SpillingRows
from omnigraph.errors import ConstraintViolation
from omnigraph.schema import Catalog
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.table_view import TableView

Violations = Iterator[ConstraintViolation]


class Written(Protocol):
    """Rows that a write adds or replaces."""

    @property
    def buffer(self) -> SpillingRows: ...

    @property
    def one_file(self) -> bool: ...


class TableChange(Protocol):
    """What a write does to one table, as far as checks need to know."""

    @property
    def type(self) -> GraphType: ...

    @property
    def written(self) -> Sequence[Written]: ...

    @property
    def removed(self) -> pa.StringArray:
        """Deleted ids; some may have been inserted again."""

    @property
    def touched(self) -> pa.StringArray:
        """Sources (of edges with a cardinality) that lost an edge."""

    @property
    def replaced(self) -> bool:
        """Whether all rows were deleted."""


@dataclass(frozen=True)
class FinalState:
    """The graph as it would be after the write."""

    catalog: Catalog
    changed: Mapping[str, TableChange]
    table: Callable[[str], TableView]
    """A table as it would be; notes which of those that the write does not touch it relied on."""
