"""What clients ask about catalogs, schemas, tables and keys."""

from __future__ import annotations

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph_sql.catalog import client_metadata


def test_branches_are_catalogs(connection: omnigraph_sql.Connection) -> None:
    connection.graph.create_branch("dev/x")
    assert client_metadata.catalogs(connection).to_pydict() == {"catalog_name": ["dev/x", "main"]}
    commit = connection.graph.snapshot().commit
    past = omnigraph_sql.connect(connection.graph, f"main@{commit}")
    assert f"main@{commit}" in client_metadata.catalogs(past).column(0).to_pylist()


def test_schemas_match_a_pattern(connection: omnigraph_sql.Connection) -> None:
    found = client_metadata.schemas(connection, "main").column("db_schema_name").to_pylist()
    assert found == ["nodes", "edges", "public", "information_schema", "system"]
    matched = (
        client_metadata.schemas(connection, "main", "%es").column("db_schema_name").to_pylist()
    )
    assert matched == ["nodes", "edges"]
    assert client_metadata.schemas(connection, "nowhere").num_rows == 0
    assert not client_metadata.schemas(connection).schema.field("db_schema_name").nullable


def test_types_tables_and_views_are_listed(connection: omnigraph_sql.Connection) -> None:
    connection.execute("CREATE VIEW old AS SELECT name FROM person WHERE age > 30")
    found = client_metadata.tables(connection, "main").to_pylist()
    assert [(row["db_schema_name"], row["table_name"], row["table_type"]) for row in found] == [
        ("edges", "Bought", "TABLE"),
        ("edges", "Knows", "TABLE"),
        ("nodes", "Item", "TABLE"),
        ("nodes", "Person", "TABLE"),
        ("public", "old", "VIEW"),
        ("public", "sales", "TABLE"),
    ]
    views = client_metadata.tables(connection, types=["VIEW"]).column("table_name").to_pylist()
    assert views == ["old"]
    named = (
        client_metadata.tables(connection, None, "nodes", "P_rs%").column("table_name").to_pylist()
    )
    assert named == ["Person"]


def test_patterns_may_mean_their_own_signs(connection: omnigraph_sql.Connection) -> None:
    for name in ("a_b", "axb", "a%b", "a\\b"):
        connection.execute(f'CREATE TABLE "{name}" (n INT)')

    def named(pattern: str) -> list[str]:
        found = client_metadata.tables(connection, "main", "public", pattern)
        return [str(name) for name in found.column("table_name").to_pylist()]

    assert named("a_b") == ["a%b", "a\\b", "a_b", "axb"]
    assert named("a\\_b") == ["a_b"]
    assert named("a\\%b") == ["a%b"]
    assert named("a\\\\b") == ["a\\b"]
    assert named("a\\b") == ["a\\b"]
    assert named("") == []


def test_nothing_is_without_a_catalog(connection: omnigraph_sql.Connection) -> None:
    assert client_metadata.schemas(connection, "").num_rows == 0
    assert client_metadata.tables(connection, "").num_rows == 0


def test_columns_say_what_can_be_done_with_them(connection: omnigraph_sql.Connection) -> None:
    connection.execute("CREATE TABLE t (d DECIMAL(10, 2), n BIGINT, s VARCHAR)")
    (row,) = client_metadata.tables(connection, "main", "public", "t", with_schema=True).to_pylist()
    schema = pa.ipc.read_schema(pa.py_buffer(row["table_schema"]))

    def said(column: str, what: str) -> bytes | None:
        found: bytes | None = schema.field(column).metadata.get(f"ARROW:FLIGHT:SQL:{what}".encode())
        return found

    assert (said("d", "PRECISION"), said("d", "SCALE")) == (b"10", b"2")
    assert (said("n", "PRECISION"), said("n", "SCALE")) == (b"19", b"0")
    assert (said("s", "PRECISION"), said("s", "SCALE")) == (None, None)
    assert [said(c, "IS_CASE_SENSITIVE") for c in "dns"] == [b"0", b"0", b"1"]
    assert {said(c, "IS_SEARCHABLE") for c in "dns"} == {b"1"}
    assert {said(c, "IS_AUTO_INCREMENT") for c in "dns"} == {b"0"}


@pytest.mark.parametrize(
    ("name", "kind"), [("Person", "node"), ("Knows", "edge"), ("sales", "table")]
)
def test_a_tables_columns_come_as_a_schema(
    connection: omnigraph_sql.Connection, name: str, kind: str
) -> None:
    found = client_metadata.tables(
        connection, "main", table_pattern=name, with_schema=True
    ).to_pylist()
    (row,) = found
    schema = pa.ipc.read_schema(pa.py_buffer(row["table_schema"]))
    expected = connection.prepare(f"SELECT * FROM {name}").result_schema
    assert expected is not None
    assert (schema.names, schema.types) == (expected.names, expected.types)
    assert schema.metadata[b"omnigraph:kind"] == kind.encode()
    assert schema.field(0).metadata[b"ARROW:FLIGHT:SQL:TABLE_NAME"] == name.encode()


def test_edges_refer_to_nodes(connection: omnigraph_sql.Connection) -> None:
    imported = client_metadata.imported_keys(connection, "main", "edges", "Bought").to_pylist()
    assert [(r["fk_column_name"], r["pk_table_name"], r["pk_column_name"]) for r in imported] == [
        ("src", "Person", "id"),
        ("dst", "Item", "id"),
    ]
    exported = client_metadata.exported_keys(connection, "main", "nodes", "Item").to_pylist()
    assert [(r["fk_table_name"], r["fk_column_name"]) for r in exported] == [("Bought", "dst")]
    keys = client_metadata.primary_keys(connection, "main", "nodes", "Person").to_pylist()
    assert [(r["column_name"], r["key_sequence"]) for r in keys] == [("id", 1)]
