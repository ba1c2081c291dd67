"""Connections to a server: what travels as options and headers of ADBC."""

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
    place: GraphLocation, catalog: str, *, slices: int = 1, autocommit: bool = True
) -> Iterator[Any]:
    """A connection whose current catalog is a branch or a moment of it; refusals are ours."""
    headers = {"catalog": catalog, "slices": str(slices)}
    if place.graph_name:
        headers["graph"] = place.graph_name
    options = {f"{_HEADER}x-omnigraph-{name}": value for name, value in headers.items()}
    if place.token:
        options[DatabaseOptions.AUTHORIZATION_HEADER.value] = f"Bearer {place.token}"
    if place.user:
        options |= {"username": place.user, "password": place.password or ""}
    if place.tls_roots:
        options[DatabaseOptions.TLS_ROOT_CERTS.value] = place.tls_roots
    if place.tls_cert and place.tls_key:
        options[DatabaseOptions.MTLS_CERT_CHAIN.value] = place.tls_cert
        options[DatabaseOptions.MTLS_PRIVATE_KEY.value] = place.tls_key
    if place.tls_skip_verify:
        options[DatabaseOptions.TLS_SKIP_VERIFY.value] = "true"
    with (
        translating_errors(),
        dbapi.connect(place.uri, db_kwargs=options, autocommit=autocommit) as connection,
    ):
        yield connection


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def relation(table_key: str) -> str:
    """A table by its key, as SQL names it."""
    kind, _, name = table_key.partition(":")
    if kind == "table":
        schema, _, table = name.partition(".")
        return f"{quoted(schema)}.{quoted(table)}"
    return f"{kind}s.{quoted(name)}"


def ask(place: GraphLocation, catalog: str, sql: str) -> pa.Table:
    """The rows of a query, all at once."""
    with connected(place, catalog) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


def pinned_moment(place: GraphLocation, at: str) -> str:
    """A moment as one that stays, whatever is committed later."""
    newest = "SELECT commit_id FROM system.commits ORDER BY version DESC LIMIT 1"
    (commit,) = ask(place, at, newest).column(0).to_pylist()
    return f"{at.partition('@')[0]}@{commit}"
