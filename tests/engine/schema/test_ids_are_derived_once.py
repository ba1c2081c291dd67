"""Key text, composite ids and fresh ULIDs (docs/design/schema-language.md#5-keys-and-ids)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from threading import Thread

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InvalidInput
from omnigraph.schema import compile_schema, derive_ids, key_text, new_ulid, new_ulids
from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.entity_ids import tuple_text
from omnigraph.schema.model.property_types import PropertyType, Scalar, scalar_type, vector_type


def text_of(value: object, scalar: Scalar) -> str:
    type_ = scalar_type(scalar)
    return str(key_text(pa.array([value], arrow_type(type_)), type_)[0].as_py())


@pytest.mark.parametrize(
    ("value", "scalar", "text"),
    [  # S3
        (42, Scalar.I32, "42"),
        (True, Scalar.BOOL, "true"),
        (date(2024, 1, 1), Scalar.DATE, "19723"),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), Scalar.DATETIME, "1000000"),
        (3.0, Scalar.F64, "3"),
        (-0.0, Scalar.F64, "0"),
        (1e-7, Scalar.F64, "0.0000001"),
        (0.1, Scalar.F32, "0.1"),
        # and more of the same
        (False, Scalar.BOOL, "false"),
        (-7, Scalar.I64, "-7"),
        (2**64 - 1, Scalar.U64, "18446744073709551615"),
        (date(1969, 12, 31), Scalar.DATE, "-1"),
        (1e22, Scalar.F64, "10000000000000000000000"),
        (16777216.0, Scalar.F32, "16777216"),
        (-1.5e-10, Scalar.F64, "-0.00000000015"),
        ("K-7", Scalar.STRING, "K-7"),
    ],
)
def test_text_of_single_values(value: object, scalar: Scalar, text: str) -> None:
    assert text_of(value, scalar) == text


def reference(value: object, type_: PropertyType) -> str | None:
    """The table of docs/design/schema-language.md#5-keys-and-ids, one value at a time."""
    if value is None:
        return None
    match type_.scalar:
        case Scalar.BOOL:
            return "true" if value else "false"
        case Scalar.F64 | Scalar.F32:
            number = np.float32(value) if type_.scalar is Scalar.F32 else float(value)  # type: ignore[arg-type]
            text = format(Decimal(str(number)), "f")
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return "0" if text in ("-0", "0") else text
        case _:
            return str(value)


VALUES: dict[Scalar, st.SearchStrategy[object]] = {
    Scalar.STRING: st.text(),
    Scalar.BOOL: st.booleans(),
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1),
    Scalar.F32: st.floats(allow_nan=False, allow_infinity=False, width=32),
    Scalar.F64: st.floats(allow_nan=False, allow_infinity=False),
}


@given(st.data())
def test_columns_agree_with_single_values(data: st.DataObject) -> None:
    scalar = data.draw(st.sampled_from(list(VALUES)))
    values = data.draw(st.lists(st.none() | VALUES[scalar]))
    type_ = scalar_type(scalar)
    column = pa.array(values, arrow_type(type_))
    expected = [reference(value, type_) for value in values]
    assert key_text(column, type_).to_pylist() == expected
    chunked = pa.chunked_array([column[:1], column[1:]])
    assert key_text(chunked, type_).to_pylist() == expected


@given(VALUES[Scalar.F64] | VALUES[Scalar.F32])
def test_float_text_reads_back(value: float) -> None:
    text = text_of(value, Scalar.F64)
    assert float(text) == value
    assert "e" not in text.lower()
    assert not text.endswith(".0")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_has_no_text(value: float) -> None:
    with pytest.raises(InvalidInput, match="NaN or infinite"):
        text_of(value, Scalar.F64)


def test_a_vector_has_no_text() -> None:
    with pytest.raises(InvalidInput):
        key_text(pa.array([], arrow_type(vector_type(2))), vector_type(2))


def test_one_member_is_its_own_text() -> None:  # S2
    buoy = compile_schema("node Buoy { name: String @key  depth: F32 }").node("Buoy")
    assert derive_ids(buoy, {"name": pa.array(["K-7"])}).to_pylist() == ["K-7"]


BERTH = "node Berth { quay: String  number: I32  @key(quay, number) }"


def test_several_members_are_a_json_array_in_identity_order() -> None:  # S4
    berth = compile_schema(BERTH).node("Berth")
    columns = {"quay": pa.array(["West"]), "number": pa.array([4], pa.int32())}
    assert derive_ids(berth, columns).to_pylist() == ['["4","West"]']


def test_a_rename_changes_no_id() -> None:  # S5
    accepted = compile_schema(BERTH)
    berth = compile_schema(
        'node Berth { pier: String @rename_from("quay")  aslot: I32 @rename_from("number")'
        "  @key(pier, aslot) }",
        accepted=accepted,
    ).node("Berth")
    columns = {"pier": pa.array(["West", "East"]), "aslot": pa.array([4, 9], pa.int32())}
    assert derive_ids(berth, columns).to_pylist() == ['["4","West"]', '["9","East"]']


def test_a_rename_that_would_change_the_alphabetical_order_changes_no_id() -> None:
    accepted = compile_schema("node B { a: String  b: String  @key(a, b) }")
    node = compile_schema(
        'node B { z: String @rename_from("a")  b: String  @key(z, b) }', accepted=accepted
    ).node("B")
    columns = {"z": pa.array(["1"]), "b": pa.array(["2"])}
    assert derive_ids(node, columns).to_pylist() == ['["1","2"]']


pairs = st.lists(st.tuples(st.text(), st.text(st.characters(max_codepoint=0x7F)))) | st.lists(
    st.tuples(st.text('ab|,"\\\n\x00\x1f\x7f\u2028'), st.sampled_from(("", '"', "\\", "\b\f\r\t")))
)


@given(pairs)
def test_composite_ids_are_what_json_writes(rows: Sequence[tuple[str, str]]) -> None:
    node = compile_schema("node P { a: String  b: String  @key(a, b) }").node("P")
    columns = {
        "a": pa.array([a for a, _ in rows], pa.utf8()),
        "b": pa.array([b for _, b in rows], pa.utf8()),
    }
    expected = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    assert derive_ids(node, columns).to_pylist() == expected


def test_tuples_that_only_look_alike_differ() -> None:  # S22
    left = pa.array(["x|y", "x", None, "x"])
    right = pa.array(["z", "y|z", "z", "z"])
    texts = tuple_text([left, right]).to_pylist()
    assert texts == ['["x|y","z"]', '["x","y|z"]', None, '["x","z"]']


def test_a_null_key_member_is_refused() -> None:
    node = compile_schema("node A { x: String @key }").node("A")
    with pytest.raises(InvalidInput, match=r"A\.x is part of the key"):
        derive_ids(node, {"x": pa.array(["a", None])})


def test_a_node_without_key_derives_no_ids() -> None:
    node = compile_schema("node A { x: String }").node("A")
    with pytest.raises(InvalidInput, match="ULID"):
        derive_ids(node, {"x": pa.array(["a"])})


# --------------------------------------------------------------------------- ULIDs


def test_ulids_are_26_crockford_characters() -> None:
    for text in [*new_ulids(100).to_pylist(), new_ulid()]:
        assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", text)
    assert new_ulids(0).to_pylist() == []


def test_ulids_grow_within_and_between_batches() -> None:
    made = [text for size in (1, 1000, 3, 40_000, 1) for text in new_ulids(size).to_pylist()]
    assert all(earlier < later for earlier, later in pairwise(made))


def test_a_ulid_tells_its_time() -> None:
    digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    milliseconds = 0
    for character in new_ulid()[:10]:
        milliseconds = milliseconds * 32 + digits.index(character)
    assert abs(datetime.now(UTC).timestamp() * 1000 - milliseconds) < 5000


def test_threads_never_share_a_ulid() -> None:
    made: list[str] = []
    threads = [Thread(target=lambda: made.extend(new_ulids(2000).to_pylist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 16_000
