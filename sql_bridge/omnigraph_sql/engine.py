"""DataFusion for one open graph: immutable table versions registered once, plans from SQL."""

from __future__ import annotations

import itertools
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from datafusion import DataFrame, RuntimeEnvBuilder, SessionConfig, SessionContext, SQLOptions

from omnigraph.graph import Graph
from omnigraph.storage.providers import ReadableTable
from omnigraph_sql.computed import ComputedRows
from omnigraph_sql.failures import engine_failures
from omnigraph_sql.functions import register_functions
from omnigraph_sql.json_functions import register_json_functions

MEMORY_VARIABLE = "OMNIGRAPH_SQL_MEMORY"
REGISTERED_TABLES = 2048

_SETTINGS = {
    # Names arrive spelled and quoted; the engine must not fold them again.
    "datafusion.sql_parser.enable_ident_normalization": "false",
    # Clients over JDBC cannot read view types.
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.execution.parquet.schema_force_view_types": "false",
    "datafusion.sql_parser.recursion_limit": "400",
    # 0.1 is exact, as in every other database.
    "datafusion.sql_parser.parse_float_as_decimal": "true",
}
_RESERVED = "datafusion.execution.sort_spill_reservation_bytes"
_READ_ONLY = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


class Engine:
    """Plans and runs for one graph; shared by its connections, safe in any thread.

    The lock guards what is registered.
    """

    def __init__(self, memory: int | None = None) -> None:
        pool = memory or _memory()
        runtime = RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(pool)
        # What a sort sets aside for merging its files; a small pool could not give the usual 10 MB.
        reserved = {_RESERVED: str(min(10_485_760, pool // 64))}
        self.context = SessionContext(SessionConfig(_SETTINGS | reserved), runtime)
        register_functions(self.context)
        register_json_functions(self.context)
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, None] = OrderedDict()
        self._numbers = itertools.count(1)
        self.plans_found = self.plans_made = 0
        """Statements whose plan was remembered, and those that had to be planned."""

    def count_plan(self, found: bool) -> None:
        """A statement has its plan."""
        with self._lock:
            self.plans_found += found
            self.plans_made += not found

    def table(self, table: ReadableTable, *, addresses: bool = False) -> str:
        """The name under which a table version is registered; registers it if need be."""
        name = f"{table.address}#" if addresses else table.address
        with self._lock:
            if name in self._tables:
                self._tables.move_to_end(name)
                return name
            with engine_failures():
                self.context.register_table(name, table.provider(addresses=addresses))
            self._tables[name] = None
            while len(self._tables) > REGISTERED_TABLES:
                self.context.deregister_table(self._tables.popitem(last=False)[0])
        return name

    def lend(self, rows: ComputedRows | ReadableTable, part: slice | None = None) -> str:
        """Register rows for one statement; `take_back` when it is planned."""
        name = f"rows {next(self._numbers)}"
        provider = rows.provider() if isinstance(rows, ComputedRows) else rows.provider(part=part)
        with engine_failures():
            self.context.register_table(name, provider)
        return name

    def take_back(self, name: str) -> None:
        """Forget lent rows; plans that read them keep them."""
        self.context.deregister_table(name)

    def plan(self, sql: str, params: Mapping[str, pa.Scalar] | None = None) -> DataFrame:
        """The plan of a query; parameters are bound as values, by number."""
        with engine_failures():
            return self.context.sql(sql, options=_READ_ONLY, param_values=dict(params or {}))


_engines: WeakKeyDictionary[Graph, Engine] = WeakKeyDictionary()
_engines_lock = threading.Lock()


def engine_of(graph: Graph, memory: int | None = None) -> Engine:
    """The engine of an open graph, made at its first use, with so much memory in bytes."""
    with _engines_lock:
        found = _engines.get(graph)
        if found is None:
            found = _engines[graph] = Engine(memory)
        return found


def _memory() -> int:
    """How much memory queries of one graph may hold before they spill: half of the machine's."""
    given: Any = os.environ.get(MEMORY_VARIABLE)
    if given:
        return int(given)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
