"""Rows are stored wherever their values begin in memory."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

import omnigraph


def test_rows_from_the_wire_are_stored(root: str) -> None:
    graph = omnigraph.init(root, "node N { n: I64 @key }")
    type_ = pa.decimal128(20, 2)
    values = pa.array([Decimal("1.25"), Decimal("-3.00")], type_)
    sink = pa.BufferOutputStream()
    lists = pa.array([[Decimal("1.25")], []], pa.list_(type_))
    table = pa.table({"d": values, "l": lists, "n": pa.array([1, 2], pa.int32()), "t": ["a", "b"]})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    message = sink.getvalue().to_pybytes()
    for shift in range(16):
        wire = pa.py_buffer(bytes(shift) + message).slice(shift)
        rows = pa.ipc.open_stream(wire).read_all()
        with graph.transaction() as t:
            t.create_table(f"a.t{shift}", rows.schema)
            t.append(f"a.t{shift}", rows)
        assert graph.snapshot().plain_table(f"a.t{shift}").scan().read_all() == table
