"""Types and tables in Arrow terms.

See docs/design/schema-language.md#3-types-and-arrow-storage and
docs/design/schema-language.md#4-physical-tables.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.schema import compile_schema, table_schema
from omnigraph.schema.model.arrow_schema import arrow_type, default_scalar, pattern_matches
from omnigraph.schema.model.property_types import PropertyType


def type_of(text: str) -> PropertyType:
    return compile_schema(f"node A {{ x: {text} }}").node("A").property("x").type


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("String", pa.utf8()),
        ("enum(a, b)", pa.utf8()),
        ("Bool", pa.bool_()),
        ("I32", pa.int32()),
        ("I64", pa.int64()),
        ("U32", pa.uint32()),
        ("U64", pa.uint64()),
        ("F32", pa.float32()),
        ("F64", pa.float64()),
        ("Date", pa.date32()),
        ("DateTime", pa.timestamp("us", "UTC")),
        ("Blob", pa.large_binary()),
        ("Vector(3)", pa.list_(pa.field("item", pa.float32()), 3)),
        ("[Date]", pa.list_(pa.field("item", pa.date32()))),
    ],
)
def test_storage_of_each_type(text: str, stored: pa.DataType) -> None:
    assert arrow_type(type_of(text)) == stored
    assert arrow_type(type_of(f"{text}?")) == stored


def test_columns_of_a_node() -> None:  # S1
    catalog = compile_schema("node Buoy { name: String @key  seen: DateTime?  depth: F32 }")
    assert table_schema(catalog.node("Buoy")) == pa.schema(
        [
            pa.field("id", pa.utf8(), nullable=False),
            pa.field("depth", pa.float32(), nullable=False),
            pa.field("name", pa.utf8(), nullable=False),
            pa.field("seen", pa.timestamp("us", "UTC")),
        ]
    )


def test_columns_of_an_edge() -> None:  # S12
    catalog = compile_schema(
        "node Ship {} node Berth {}"
        "edge Docks: Ship -> Berth @card(0..1) { @unique(src, dst)  since: Date? }"
    )
    schema = table_schema(catalog.edge("Docks"))
    assert schema.names == ["id", "src", "dst", "since"]
    assert [field.nullable for field in schema] == [False, False, False, True]


def test_columns_are_in_byte_order() -> None:
    catalog = compile_schema("node A { b: I32  aB: I32  _z: I32  ab: I32 }")
    assert table_schema(catalog.node("A")).names == ["id", "_z", "aB", "ab", "b"]


def test_a_blob_column_is_marked() -> None:
    catalog = compile_schema("node A { b: Blob? }")
    field = table_schema(catalog.node("A")).field("b")
    assert field.metadata == {b"lance-encoding:blob": b"true"}


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ('String @default("NL")', "NL"),
        ("I32 @default(7)", 7),
        ("F32 @default(2)", 2.0),
        ("Bool @default(true)", True),
        ("enum(a, b) @default(b)", "b"),
        ("String?", None),
        ('String? @default("NL")', None),
    ],
)
def test_what_existing_rows_get(declaration: str, value: object) -> None:
    prop = compile_schema(f"node A {{ x: {declaration} }}").node("A").property("x")
    scalar = default_scalar(prop)
    assert scalar.as_py() == value
    assert scalar.type == arrow_type(prop.type)


def test_time_defaults_are_stored_as_numbers() -> None:
    node = compile_schema(
        'node A { d: Date @default("2024-01-01")'
        '  t: DateTime @default("1970-01-01T01:00:01+01:00") }'
    ).node("A")
    assert default_scalar(node.property("d")).cast(pa.int32()).as_py() == 19723
    assert default_scalar(node.property("t")).cast(pa.int64()).as_py() == 1_000_000


def test_check_searches_anywhere() -> None:  # S9
    catalog = compile_schema('node P { ref: String  @check(ref, "[A-Z]{2}-\\\\d+") }')
    pattern = catalog.node("P").checks[0].pattern
    found = pattern_matches(pa.array(["xxAB-7yy", "ab-7", None]), pattern)
    assert found.to_pylist() == [True, False, None]
