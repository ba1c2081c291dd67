"""`.gq` as a statement: parameters of every type, stored queries by name, one commit per change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from flight.clients import action, bound_update, prepared, query, update
from omnigraph import Graph
from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server

MOMENT = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
PARAMETERS: dict[str, tuple[str, pa.Array, Any]] = {
    "String": ("String", pa.array(["x"]), "x"),
    "String of a dictionary": ("String", pa.array(["x"]).dictionary_encode(), "x"),
    "I32": ("I32", pa.array([5], pa.int8()), 5),
    "I64": ("I64", pa.array([2**40]), 2**40),
    "U64": ("U64", pa.array([2**63 - 1], pa.uint64()), 2**63 - 1),
    "F32": ("F32", pa.array([1.5]), 1.5),
    "F64": ("F64", pa.array([1.5]), 1.5),
    "F64 of a decimal": ("F64", pa.array([Decimal("1.50")]), 1.5),
    "I64 of a decimal": ("I64", pa.array([Decimal("7")]), 7),
    "Bool": ("Bool", pa.array([True]), True),
    "Date": ("Date", pa.array([date(2020, 1, 2)]), date(2020, 1, 2)),
    "DateTime": ("DateTime", pa.array([MOMENT], pa.timestamp("us", "UTC")), MOMENT),
    "DateTime of Tokyo": ("DateTime", pa.array([MOMENT], pa.timestamp("ns", "Asia/Tokyo")), MOMENT),
    "list": ("[String]", pa.array([["a", "b"]]), ["a", "b"]),
    "list of decimals": ("[F64]", pa.array([[Decimal("0.5")]]), [0.5]),
    "Vector": ("Vector(2)", pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), [1.0, 2.0]),
    "nothing": ("Date?", pa.nulls(1), None),
}


def answer(client: fl.FlightClient, text: str, params: pa.RecordBatch) -> pa.Table:
    command = prepared(client, text, params)
    info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    return pa.concat_tables(client.do_get(each.ticket).read_all() for each in info.endpoints)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_of_every_type(server: Server, name: str) -> None:
    type_, given, wanted = PARAMETERS[name]
    text = f"query q($x: {type_}) {{ match {{ $p: Person }} return {{ $x as x }} limit 1 }}"
    with fl.connect(server.uri) as client:
        found = answer(client, text, pa.record_batch([given], names=["x"]))
    assert found["x"].to_pylist() == [wanted]


def test_a_stored_query_runs_by_its_name_with_bound_parameters(
    server: Server, graph: Graph
) -> None:
    graph.register_queries(
        "query named($name: String) { match { $p: Person { name: $name } } return { $p.name } }"
    )
    with fl.connect(server.uri) as client:
        for text in ("named", " named ; "):
            found = answer(client, text, pa.record_batch({"name": ["Bob", "Nobody", "Ann"]}))
            assert found["p.name"].to_pylist() == ["Bob", "Ann"]
        request = wrapped("ActionCreatePreparedStatementRequest", query="named")
        made = decode_command(action(client, "CreatePreparedStatement", request)).body
        assert pa.ipc.read_schema(pa.py_buffer(made.parameter_schema)).names == ["name"]
        with pytest.raises(pa.ArrowInvalid, match="name is missing"):
            query(client, "named")


ADD = "query add($name: String) { insert Person { name: $name } }"


def test_all_sets_of_a_change_are_one_commit(server: Server, graph: Graph) -> None:
    before = len(graph.commits())
    with fl.connect(server.uri) as client:
        assert bound_update(client, ADD, pa.record_batch({"name": ["Dee", "Eli"]})) == 2
    assert graph.snapshot().count("Person") == 5
    assert len(graph.commits()) == before + 1


def test_a_set_that_fails_takes_the_others_with_it(server: Server, graph: Graph) -> None:
    link = 'query link($to: String) { insert Knows { from: "Ann", to: $to } }'
    with fl.connect(server.uri) as client:
        with pytest.raises((pa.ArrowException, fl.FlightError), match="Nobody"):
            bound_update(client, link, pa.record_batch({"to": ["Cid", "Nobody"]}))
        assert bound_update(client, link, pa.record_batch({"to": pa.array([], pa.string())})) == 0
        assert bound_update(client, link, pa.record_batch({"to": ["Cid", "Bob"]})) == 2
    assert graph.snapshot().count("Knows") == 4
    assert [branch.name for branch in graph.branches(hidden=True)] == ["main"]


def test_a_change_counts_what_it_changed(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        assert update(client, 'query add() { insert Person { name: "Dee" } }') == 1
        assert update(client, 'query drop() { delete Person where name = "Dee" }') == 1
    assert graph.snapshot().count("Person") == 3
