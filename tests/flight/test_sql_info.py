"""What drivers ask about the server and its types, in exactly the form they check."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_flight.protocol.sql_info import SCHEMA, sql_info
from omnigraph_flight.protocol.xdbc_type_info import type_info

ASKED_BY_JDBC = {*range(12), *range(500, 577)}


def test_every_code_that_drivers_ask_for_is_answered() -> None:
    told = sql_info()
    told.validate(full=True)
    assert set(told["info_name"].to_pylist()) >= ASKED_BY_JDBC


def test_only_what_was_asked_for_is_told_and_unknown_codes_are_left_out() -> None:
    rows = sql_info([0, 8, 540, 99_999]).to_pylist()
    assert rows == [
        {"info_name": 0, "value": "OmniGraph"},
        {"info_name": 8, "value": 2},
        {"info_name": 540, "value": 3},
    ]


def test_the_union_and_its_members_are_not_nullable() -> None:
    """A driver that checks the schema refuses anything else."""
    assert not SCHEMA.field("value").nullable
    union = SCHEMA.field("value").type
    assert not any(union.field(index).nullable for index in range(union.num_fields))
    assert sql_info([0]).schema.equals(SCHEMA)


def test_the_answer_survives_the_wire() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_table(sql_info())
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        assert reader.read_all().to_pylist() == sql_info().to_pylist()


def test_types_are_told_by_code_and_name() -> None:
    told = type_info()
    told.validate(full=True)
    order = list(zip(told["data_type"].to_pylist(), told["type_name"].to_pylist(), strict=True))
    assert order == sorted(order)
    assert {"VARCHAR", "VARBINARY", "TIMESTAMP", "DECIMAL"} <= set(told["type_name"].to_pylist())
    assert type_info(12)["type_name"].to_pylist() == ["VARCHAR"]
    assert type_info(77).num_rows == 0
