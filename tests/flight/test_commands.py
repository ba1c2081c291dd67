"""Bytes become commands we know, or a typed error; nothing else comes out."""

from __future__ import annotations

import pytest
from google.protobuf import any_pb2
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InvalidInput
from omnigraph_flight.protocol.decode_command import (
    FlightSqlCommand,
    decode,
    decode_command,
    optional,
)
from omnigraph_flight.protocol.flight_sql_messages import SQL, SQL_NAMES, message, wrapped


@pytest.mark.parametrize("name", sorted(SQL_NAMES))
def test_every_message_survives_the_way_there_and_back(name: str) -> None:
    command = decode_command(wrapped(name))
    assert command == FlightSqlCommand(name, message(name))


def test_a_field_that_was_not_sent_is_told_from_an_empty_one() -> None:
    silent = decode_command(wrapped("CommandGetTables")).body
    empty = decode_command(wrapped("CommandGetTables", catalog="")).body
    assert optional(silent, "catalog") is None
    assert optional(empty, "catalog") == ""


def test_session_options_are_a_map_of_choices() -> None:
    asked = message("SetSessionOptionsRequest")
    asked.session_options["catalog"].string_value = "draft"
    asked.session_options["limit"].int64_value = -3
    read = decode("SetSessionOptionsRequest", asked.SerializeToString()).session_options
    assert read["catalog"].WhichOneof("option_value") == "string_value"
    assert read["limit"].int64_value == -3


def test_field_numbers_are_those_of_the_protocol() -> None:
    """As other implementations put them on the wire."""
    assert wrapped("CommandStatementQuery", query="q", transaction_id=b"t").endswith(
        b"\x12\x06\x0a\x01q\x12\x01t"
    )
    ingest = message("CommandStatementIngest", table="t", temporary=True, transaction_id=b"x")
    ingest.table_definition_options.if_not_exist = 1
    ingest.table_definition_options.if_exists = 3
    assert ingest.SerializeToString() == b"\x0a\x04\x08\x01\x10\x03\x12\x01t\x28\x01\x32\x01x"
    result = message("ActionCreatePreparedStatementResult", is_update=False)
    assert result.SerializeToString() == b"\x20\x00", "false is sent, too"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_command_or_refused(data: bytes) -> None:
    _decoded_or_refused(data)


@given(st.sampled_from(sorted(SQL_NAMES)), st.binary(max_size=200))
def test_any_body_of_a_known_command_is_read_or_refused(name: str, body: bytes) -> None:
    held = any_pb2.Any(type_url=f"type.googleapis.com/{SQL}.{name}", value=body)
    _decoded_or_refused(held.SerializeToString())


@given(st.text(max_size=80), st.binary(max_size=20))
def test_any_type_name_is_known_or_refused(type_url: str, body: bytes) -> None:
    _decoded_or_refused(any_pb2.Any(type_url=type_url, value=body).SerializeToString())


@given(
    st.sampled_from(sorted(SQL_NAMES)),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8),
    st.integers(0, 400),
)
def test_damaged_commands_are_read_or_refused(
    name: str, changes: list[tuple[int, int]], cut: int
) -> None:
    fields = {"query": "SELECT 1"} if name.startswith("CommandStatement") else {}
    data = bytearray(wrapped(name, **fields) if "Query" in name else wrapped(name))
    for place, value in changes:
        data[place % len(data)] = value
    _decoded_or_refused(bytes(data[: max(1, len(data) - cut % len(data))]))


def _decoded_or_refused(data: bytes) -> None:
    try:
        command = decode_command(data)
    except InvalidInput as error:
        assert error.hint
        return
    assert command.name in SQL_NAMES
