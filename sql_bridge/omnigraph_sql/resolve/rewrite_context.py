"""What the passes know and learn about one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession, table_name

THREE_VALUED = "three_valued"
"""The one key of `node.meta` that passes use: marks what a quantified predicate became where
unknown and false differ. It is no field of the context: copies of the node must have it, too."""
MAX_EXPANSION = 32
"""How many views deep a statement may go."""


def _nothing(query: exp.Expr) -> list[Any]:
    raise InvalidInput("a query cannot be an argument of a table function here")


@dataclass(frozen=True)
class Read:
    """A stored table as a statement reads it."""

    table: ReadableTable = field(repr=False)
    addresses: bool
    cached: bool
    """Whether its rows may be cached in memory."""

    @property
    def name(self) -> str:
        """What DataFusion calls it."""
        return table_name(self.table, addresses=self.addresses, cached=self.cached)

    def register(self, datafusion: DataFusionSession) -> None:
        """See to it that DataFusion knows it."""
        datafusion.table(self.table, addresses=self.addresses, cached=self.cached)


@dataclass
class RewriteContext:
    """One statement while it is rewritten."""

    pins: PinnedSnapshots
    schema: str
    dialect: str
    datafusion: DataFusionSession
    user: str | None = None
    addresses_of: str | None = None
    """The alias whose rows carry their address, for statements that change them."""
    part: slice | None = None
    """Some fragments only, where a result is read in slices."""
    parameters: list[str] = field(default_factory=list)
    """Names of the parameters in the order of their numbers."""
    untyped: tuple[int, ...] = ()
    """The numbers of those whose place expects no type."""
    columns: dict[str, set[str]] = field(default_factory=dict)
    """Folded to actual spellings of the columns of all tables."""
    types: dict[str, pa.DataType] = field(default_factory=dict)
    """The type of each column, by folded name; for typing parameters."""
    sources: dict[str, pa.Schema] = field(default_factory=dict)
    """Columns by folded alias."""
    registered: dict[str, pa.Schema] = field(default_factory=dict)
    """Columns by the name under which DataFusion knows a table."""
    target: pa.Schema | None = None
    """The columns of the table that a statement inserts into."""
    tables: list[ReadableTable] = field(default_factory=list)
    """The stored tables that are read."""
    reads: dict[str, Read] = field(default_factory=dict)
    """How each of them is read, by the name it has in the tree."""
    temporary_names: list[str] = field(default_factory=list)
    """Names of rows that are registered for this statement only."""
    domains: set[str] = field(default_factory=set)
    """The aliases of the domains of dependent joins, which `decorrelate` makes: a derived table
    that names one of them is correlated."""
    names: tuple[str, ...] | None = None
    """What the result's columns are called; none where DataFusion knows better."""
    computed_rows: Mapping[str, ComputedRows] = field(default_factory=dict)
    """Rows under names that no table can have."""
    first_column: Callable[[exp.Expr], list[Any]] = _nothing
    """Runs a query at the same moments, for arguments of table functions."""
    column_names: Callable[[exp.Expr], list[str]] = _nothing
    """What the columns of a query are called, at the same moments."""
    values: Mapping[str, pa.Scalar] | None = None
    """The values of parameters, where there are any yet."""
    calls_with_parameters: bool = False
    """Whether a table function depends on them."""
    may_cache: bool = True
    """Whether small tables may be read from memory."""
    expansions: int = 0
    cacheable: bool = True

    @property
    def reads_temporary_rows(self) -> bool:
        """Whether rows that are no table's are read, too."""
        return len(self.temporary_names) > (self.part is not None)

    def register_temporary(self, rows: Any, *part: slice) -> str:  # noqa: ANN401
        """Register rows for this statement only; gives their name."""
        name = self.datafusion.register_temporary(rows, *part)
        self.temporary_names.append(name)
        self.registered[name] = rows.schema
        return name

    def know(self, alias: str, schema: pa.Schema) -> None:
        """Remember the columns of a source."""
        self.sources[alias.casefold()] = schema
        self.know_fields(schema)

    def know_fields(self, fields: Iterable[pa.Field]) -> None:
        for found in fields:
            folded = found.name.casefold()
            self.columns.setdefault(folded, set()).add(found.name)
            self.types.setdefault(folded, found.type)
            if pa.types.is_struct(found.type):
                self.know_fields(found.type)
