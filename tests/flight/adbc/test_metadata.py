"""What BI tools browse: catalogs are branches, schemas, tables with their columns, keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import metadata
from omnigraph import Graph
from omnigraph_flight.handlers.metadata_commands import schema_of
from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server


def objects(client: dbapi.Connection, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    found: list[dict[str, Any]] = client.adbc_get_objects(**options).read_all().to_pylist()
    return found


def test_branches_are_catalogs(client: dbapi.Connection, graph: Graph) -> None:
    graph.create_branch("draft")
    found = objects(client, depth="catalogs")
    assert {row["catalog_name"] for row in found} >= {"main", "draft"}


def test_schemas_are_nodes_and_edges_and_those_of_users(client: dbapi.Connection) -> None:
    (main,) = objects(client, depth="db_schemas", catalog_filter="main")
    assert {s["db_schema_name"] for s in main["catalog_db_schemas"]} >= {"nodes", "edges"}


def test_types_are_tables_with_columns(client: dbapi.Connection) -> None:
    (main,) = objects(client, depth="all", catalog_filter="main", table_name_filter="Person")
    (schema,) = (s for s in main["catalog_db_schemas"] if s["db_schema_name"] == "nodes")
    (table,) = schema["db_schema_tables"]
    assert (table["table_name"], table["table_type"]) == ("Person", "TABLE")
    assert {c["column_name"] for c in table["table_columns"]} == {"id", "name", "age"}


def test_the_schema_of_a_table(client: dbapi.Connection) -> None:
    schema = client.adbc_get_table_schema("Person", db_schema_filter="nodes")
    assert schema.field("age").type == pa.int64()


def test_the_types_of_tables_and_the_server_itself(client: dbapi.Connection) -> None:
    assert {"TABLE", "VIEW"} <= set(client.adbc_get_table_types())
    assert client.adbc_get_info()["vendor_name"] == "OmniGraph"


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("CommandGetCatalogs", {}),
        ("CommandGetDbSchemas", {}),
        ("CommandGetTables", {}),
        ("CommandGetTables", {"include_schema": True}),
        ("CommandGetTableTypes", {}),
        ("CommandGetPrimaryKeys", {"table": "Person"}),
        ("CommandGetImportedKeys", {"table": "Knows"}),
        ("CommandGetExportedKeys", {"table": "Person"}),
        ("CommandGetCrossReference", {"pk_table": "Person", "fk_table": "Knows"}),
        ("CommandGetSqlInfo", {}),
        ("CommandGetXdbcTypeInfo", {}),
    ],
)
def test_every_answer_has_exactly_the_schema_that_was_told(
    server: Server, command: str, fields: dict[str, Any]
) -> None:
    """Drivers check names, types and nullability."""
    data = wrapped(command, **fields)
    with fl.connect(server.uri) as client:
        descriptor = fl.FlightDescriptor.for_command(data)
        info = client.get_flight_info(descriptor)
        wanted = schema_of(decode_command(data))
        assert client.get_schema(descriptor).schema.equals(wanted)
        assert info.schema.equals(wanted)
        table = client.do_get(info.endpoints[0].ticket).read_all()
    table.validate(full=True)
    assert table.schema.equals(wanted)
    assert table.num_rows > 0


def test_keys_come_from_the_schema_of_the_graph(server: Server) -> None:
    with fl.connect(server.uri) as client:
        (key,) = metadata(client, "CommandGetPrimaryKeys", catalog="main", table="Person")
        assert (key["db_schema_name"], key["column_name"]) == ("nodes", "id")
        ends = metadata(client, "CommandGetImportedKeys", catalog="main", table="Member")
        found = {(e["fk_column_name"], e["pk_table_name"], e["pk_column_name"]) for e in ends}
        assert found == {("src", "Person", "id"), ("dst", "Club", "id")}
        exported = metadata(client, "CommandGetExportedKeys", catalog="main", table="Club")
        assert {e["fk_table_name"] for e in exported} == {"Member"}
        crossed = metadata(
            client,
            "CommandGetCrossReference",
            pk_catalog="main",
            pk_table="Club",
            fk_catalog="main",
            fk_table="Member",
        )
        assert [e["fk_column_name"] for e in crossed] == ["dst"]


def test_patterns_and_types_narrow_the_search(server: Server) -> None:
    with fl.connect(server.uri) as client:
        found = metadata(
            client, "CommandGetTables", catalog="main", table_name_filter_pattern="Per%"
        )
        assert {row["table_name"] for row in found} == {"Person"}
        found = metadata(client, "CommandGetTables", catalog="main", table_types=["VIEW"])
        assert found == []
        assert metadata(client, "CommandGetTables", catalog="nowhere") == []
