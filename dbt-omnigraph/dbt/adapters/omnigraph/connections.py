"""dbt's connection manager over pooled ADBC connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any

import adbc_driver_manager
import pyarrow as pa
from dbt.adapters.contracts.connection import (
    AdapterRequiredConfig,
    AdapterResponse,
    Connection,
    ConnectionState,
)
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.omnigraph.column import sql_type
from dbt.adapters.omnigraph.connection_pool import Handle, Pool, restore_interrupts, server_message
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.run_branch import RunBranch

if TYPE_CHECKING:
    import agate


class OmniGraphConnectionManager(SQLConnectionManager):
    """Opens each node's connection on the branch that the invocation writes to."""

    TYPE = "omnigraph"

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        credentials = config.credentials
        assert isinstance(credentials, OmniGraphCredentials)
        self.pool = Pool(credentials)
        self.run = RunBranch(config, credentials, self.pool)
        restore_interrupts()

    # dbt calls it through the instance (`LazyHandle(self.open)`), and the branch is the instance's.
    def open(self, connection: Connection) -> Connection:  # type: ignore[override]
        """Give a connection its handle; the first one of a writing command creates the branch."""
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            with self.lock:
                branch = self.run.branch()
            connection.handle = self.pool.open(branch)
            connection.state = ConnectionState.OPEN
        except adbc_driver_manager.Error as error:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(server_message(error)) from error
        return connection

    def cancel(self, connection: Connection) -> None:
        handle = connection.handle
        assert isinstance(handle, Handle)
        handle.cancel()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        try:
            yield
        except adbc_driver_manager.Error as error:
            raise DbtDatabaseError(server_message(error)) from error
        except DbtRuntimeError:
            raise
        except Exception as error:  # noqa: BLE001 - dbt reports every failure of a node as its own error
            raise DbtRuntimeError(str(error)) from error

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Run a statement to its end: also rows that are not fetched may end in an error."""
        from dbt_common.clients.agate_helper import empty_table

        sql = self._add_query_comment(sql)
        _, cursor = self.add_query(sql, auto_begin)
        response = self.get_response(cursor)
        with self.exception_handler(sql):
            if fetch:
                return response, self.get_result_from_cursor(cursor, limit)
            if cursor.description is not None:
                for _ in cursor.fetch_record_batch():
                    pass
        restore_interrupts()
        return response, empty_table()

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:  # noqa: ANN401
        rows = cursor.rowcount
        if rows is None or rows < 0:
            return AdapterResponse(_message="OK")
        return AdapterResponse(_message=f"OK {rows}", rows_affected=rows)

    @classmethod
    def data_type_code_to_name(cls, type_code: Any) -> str:  # type: ignore[override]  # noqa: ANN401
        return sql_type(type_code)

    @classmethod
    def get_result_from_cursor(cls, cursor: Any, limit: int | None) -> agate.Table:  # noqa: ANN401
        from dbt_common.clients.agate_helper import table_from_data_flat

        if cursor.description is None:
            return table_from_data_flat([], [])
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchmany(limit) if limit else cursor.fetchall()
        return table_from_data_flat(cls.process_results(names, rows), names)

    def ingest(self, schema: str, table: str, rows: pa.Table) -> int:
        """Append rows to a table in one stream."""
        handle = self.get_thread_connection().handle
        with self.exception_handler(f"ingest into {schema}.{table}"):
            count = handle.cursor().adbc_ingest(table, rows, mode="append", db_schema_name=schema)
            return int(count)

    # A statement is a commit of the run's branch, and the run is the transaction.

    def add_begin_query(self) -> None:  # type: ignore[override]
        """Nothing to begin."""

    def add_commit_query(self) -> None:  # type: ignore[override]
        """Nothing to commit."""

    def begin(self) -> None:
        """Nothing to begin."""

    def commit(self) -> None:
        """Nothing to commit."""

    def clear_transaction(self) -> None:
        """Nothing to clear."""
