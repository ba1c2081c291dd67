"""DataFusion for one open graph: table versions registered once, since none ever changes."""

from __future__ import annotations

import itertools
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import pyarrow as pa
from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext, SQLOptions

from omnigraph import Graph
from omnigraph.tables import ADDRESS, ReadableTable, stored_bytes
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.datafusion.error_translation import datafusion_errors
from omnigraph_sql.datafusion.json_functions import register_json_functions
from omnigraph_sql.datafusion.query_plan import QueryPlan
from omnigraph_sql.datafusion.scalar_functions import register_functions

MEMORY_VARIABLE = "OMNIGRAPH_SQL_MEMORY"
REGISTERED_TABLES = 2048
SMALL_ROWS = 1 << 15
SMALL_BYTES = 8 << 20
CACHED_BYTES = 256 << 20
"""The most rows and bytes of a table that is cached in memory, and of all that are."""

_SETTINGS = {
    # Names arrive spelled and quoted; DataFusion must not fold them again.
    "datafusion.sql_parser.enable_ident_normalization": "false",
    # Clients over JDBC cannot read view types.
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.execution.parquet.schema_force_view_types": "false",
    "datafusion.sql_parser.recursion_limit": "400",
    # 0.1 is exact, as in every other database.
    "datafusion.sql_parser.parse_float_as_decimal": "true",
    # Sorts side by side take each other's memory: in a small pool every second one failed to spill.
    "datafusion.optimizer.repartition_sorts": "false",
}
_RESERVED = "datafusion.execution.sort_spill_reservation_bytes"
_READ_ONLY = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


class PlanCounts(NamedTuple):
    """How many statements found their plan in a cache, and how many had to be planned."""

    hits: int
    misses: int


class DataFusionSession:
    """Plans and runs for one graph; shared by its connections, safe in any thread.

    The lock guards the registered tables and the counts.
    """

    def __init__(self, memory: int | None = None) -> None:
        pool = memory or _memory()
        runtime = RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(pool)
        # What a sort sets aside for merging its files; a small pool could not give the usual 10 MB.
        reserved = {_RESERVED: str(min(10_485_760, pool // 10))}
        self.context = SessionContext(SessionConfig(_SETTINGS | reserved), runtime)
        register_functions(self.context)
        register_json_functions(self.context)
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, int] = OrderedDict()
        """The registered names, with the bytes of the rows that are cached under each."""
        self._readable: dict[str, ReadableTable] = {}
        """The same tables, for who has to say which file of them is damaged."""
        self._cached_bytes = 0
        self._numbers = itertools.count(1)
        self.plan_counts = PlanCounts(0, 0)

    def count_plan(self, hit: bool) -> None:
        """Count a statement that has its plan."""
        with self._lock:
            hits, misses = self.plan_counts
            self.plan_counts = PlanCounts(hits + hit, misses + (not hit))

    def table(self, table: ReadableTable, *, addresses: bool = False, cached: bool = True) -> str:
        """The name under which a table version is registered; registers it if need be.

        `cached` says that its rows may be cached in memory.
        """
        name = table_name(table, addresses=addresses, cached=cached)
        with self._lock:
            if name in self._tables:
                self._tables.move_to_end(name)
                return name
        with datafusion_errors():
            rows = _small_table(table, addresses) if cached else None  # reads: not under the lock
            provider = table.provider(addresses=addresses) if rows is None else None
        with self._lock:
            if name in self._tables:
                return name
            with datafusion_errors():
                if rows is None:
                    self.context.register_table(name, provider)
                else:
                    self.context.register_record_batches(name, [rows.to_batches()])
            self._readable[name] = table
            self._tables[name] = 0 if rows is None else rows.nbytes
            self._cached_bytes += self._tables[name]
            self._evict()
        return name

    def _evict(self) -> None:
        """Deregister the least recently used versions; the newest stays."""
        over = max(0, len(self._tables) - REGISTERED_TABLES)
        for number, (name, size) in enumerate(list(self._tables.items())[:-1]):
            if number >= over and self._cached_bytes <= CACHED_BYTES:
                break
            if number < over or size:
                self._cached_bytes -= self._tables.pop(name)
                self.context.deregister_table(name)
                del self._readable[name]

    def register_temporary(
        self, rows: ComputedRows | ReadableTable, part: slice | None = None
    ) -> str:
        """Register rows for one statement; `deregister` them when it is planned."""
        name = f"rows {next(self._numbers)}"
        provider = rows.provider() if isinstance(rows, ComputedRows) else rows.provider(part=part)
        with datafusion_errors():
            self.context.register_table(name, provider)
        return name

    def deregister(self, name: str) -> None:
        """Deregister temporary rows; plans that read them still do."""
        self.context.deregister_table(name)

    def plan(self, sql: str, params: Mapping[str, pa.Scalar]) -> QueryPlan:
        """The plan of a query; parameters are bound as values, by number."""
        with datafusion_errors():
            frame = self.context.sql(sql, options=_READ_ONLY, param_values=dict(params))
        return QueryPlan(frame, self.context, self._readable)


def table_name(table: ReadableTable, *, addresses: bool, cached: bool) -> str:
    """The name under which a table version is registered."""
    return f"{table.address}{'#' * addresses}{'*' * cached}"


def _small_table(table: ReadableTable, addresses: bool) -> pa.Table | None:
    """The rows of a version that is small enough to be cached; none where it is not, or is empty.

    Preparing a scan with a filter takes the store longer than DataFusion needs for all of its
    rows, and a version never changes.
    """
    if not 0 < table.rows <= SMALL_ROWS or not table.scannable:
        return None
    if stored_bytes(table.tables, table.version) > SMALL_BYTES:
        return None
    columns = [*table.schema.names, *([ADDRESS] if addresses else [])]
    batches, size = [], 0
    for batch in table.scan(columns):
        batches.append(batch.select(columns))
        size += batch.nbytes
        if size > SMALL_BYTES:
            return None
    return pa.Table.from_batches(batches).combine_chunks() if size else None


_sessions: WeakKeyDictionary[Graph, DataFusionSession] = WeakKeyDictionary()
_sessions_lock = threading.Lock()


def session_of(graph: Graph, memory: int | None = None) -> DataFusionSession:
    """The session of an open graph, made at its first use, with so much memory in bytes."""
    with _sessions_lock:
        session = _sessions.get(graph)
        if session is None:
            session = _sessions[graph] = DataFusionSession(memory)
        return session


def configure(graph: Graph, memory: int | None) -> None:
    """Set how many bytes the queries of a graph may use before they spill.

    To be called before the first of them; none is the default.
    """
    session_of(graph, memory)


def plan_counts(graph: Graph) -> PlanCounts:
    """How often plans of a graph's statements were found in a cache."""
    return session_of(graph).plan_counts


def _memory() -> int:
    """How much memory queries of one graph may use before they spill: half of the machine's."""
    given = os.environ.get(MEMORY_VARIABLE)
    if given:
        return int(given)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
