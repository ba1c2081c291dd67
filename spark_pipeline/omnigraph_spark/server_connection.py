"""Connections to a server over ADBC, and names and literals of its SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from adbc_driver_flightsql import DatabaseOptions, dbapi

from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.server_errors import translating_errors

_HEADER = DatabaseOptions.RPC_CALL_HEADER_PREFIX.value


@contextmanager
def connected(
    location: GraphLocation, catalog: str, *, slices: int = 1, autocommit: bool = True
) -> Iterator[Any]:
    """A connection whose current catalog is a branch or a moment; errors are translated."""
    headers = {"catalog": catalog, "slices": str(slices)}
    if location.graph_name:
        headers["graph"] = location.graph_name
    options = {f"{_HEADER}x-omnigraph-{name}": value for name, value in headers.items()}
    if location.token:
        options[DatabaseOptions.AUTHORIZATION_HEADER.value] = f"Bearer {location.token}"
    if location.user:
        options |= {"username": location.user, "password": location.password or ""}
    if location.tls_roots:
        options[DatabaseOptions.TLS_ROOT_CERTS.value] = location.tls_roots
    if location.tls_cert and location.tls_key:
        options[DatabaseOptions.MTLS_CERT_CHAIN.value] = location.tls_cert
        options[DatabaseOptions.MTLS_PRIVATE_KEY.value] = location.tls_key
    if location.tls_skip_verify:
        options[DatabaseOptions.TLS_SKIP_VERIFY.value] = "true"
    with (
        translating_errors(),
        dbapi.connect(location.uri, db_kwargs=options, autocommit=autocommit) as connection,
    ):
        yield connection


def quoted(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def relation(table_key: str) -> str:
    """A table by its key, as SQL names it."""
    kind, _, name = table_key.partition(":")
    if kind == "table":
        schema, _, table = name.partition(".")
        return f"{quoted(schema)}.{quoted(table)}"
    return f"{kind}s.{quoted(name)}"


def fetch_table(location: GraphLocation, catalog: str, sql: str) -> pa.Table:
    """The rows of a query, all at once."""
    with connected(location, catalog) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()
