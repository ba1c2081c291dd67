"""Row equality is typed and exact (docs/design/branching.md#4-diff)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.branching.compare.row_equality import differing

TYPES = {
    "text": (pa.utf8(), st.text(max_size=3)),
    "bool": (pa.bool_(), st.booleans()),
    "I32": (pa.int32(), st.integers(-2, 2)),
    "U64": (pa.uint64(), st.sampled_from([0, 1, 2**64 - 1])),
    "F32": (pa.float32(), st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf])),
    "F64": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.inf])),
    "date": (pa.date32(), st.dates()),
    "blob": (pa.large_binary(), st.binary(max_size=3)),
    "texts": (pa.list_(pa.utf8()), st.lists(st.none() | st.text(max_size=2), max_size=3)),
    "floats": (pa.list_(pa.float64()), st.lists(st.sampled_from([0.0, -0.0, math.nan]))),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.utf8()))]),
        st.fixed_dictionaries(
            {"a": st.none() | st.integers(0, 1), "b": st.none() | st.lists(st.just("x"))}
        ),
    ),
    "large lists": (pa.large_list(pa.int32()), st.lists(st.integers(0, 1), max_size=2)),
    "decimal": (pa.decimal128(5, 2), st.decimals(-1, 1, places=2)),
    "vector": (
        pa.list_(pa.float32(), 2),
        st.lists(st.sampled_from([0.0, -0.0, 1.0]), min_size=2, max_size=2),
    ),
}


def exact(value: Any) -> object:  # noqa: ANN401
    """A value in a form in which Python's equality is image equality."""
    match value:
        case float():
            return struct.pack("<d", value)
        case list():
            return [exact(item) for item in value]
        case dict():
            return {name: exact(item) for name, item in value.items()}
        case Decimal():
            return value + 0  # Arrow has one zero
        case _:
            return (type(value), value)


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_rows_differ_exactly_where_their_values_do(name: str, data: st.DataObject) -> None:
    type_, values = TYPES[name]
    pairs = data.draw(st.lists(st.tuples(st.none() | values, st.none() | values), max_size=8))
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    found = differing(
        pa.table({"p": pa.array(left, type_)}), pa.table({"p": pa.array(right, type_)})
    )
    wanted = [exact(a) != exact(b) for a, b in zip(left, right, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        (pa.utf8(), None, ""),
        (pa.list_(pa.utf8()), None, []),
        (pa.list_(pa.utf8()), ["a, b"], ["a", "b"]),
        (pa.list_(pa.utf8()), ["a", "b"], ["b", "a"]),
        (pa.list_(pa.utf8()), [None], []),
        (pa.list_(pa.utf8()), [None], [""]),
        (pa.float64(), 0.0, -0.0),
        (pa.large_binary(), b"", None),
    ],
)
def test_what_looks_alike_is_not_the_same(type_: pa.DataType, one: object, other: object) -> None:
    left = pa.table({"p": pa.array([one, one], type_)})
    right = pa.table({"p": pa.array([other, one], type_)})
    assert differing(left, right).tolist() == [True, False]


def test_floats_count_by_their_bits() -> None:
    quiet, other = (struct.pack("<Q", 0x7FF8000000000000 + n) for n in (0, 7))
    values = pa.Array.from_buffers(pa.float64(), 2, [None, pa.py_buffer(quiet + other)])
    swapped = pa.Array.from_buffers(pa.float64(), 2, [None, pa.py_buffer(quiet + quiet)])
    found = differing(pa.table({"p": values}), pa.table({"p": swapped}))
    assert found.tolist() == [False, True]


def test_any_column_counts_and_slices_are_read_as_such() -> None:
    lists = pa.array([["x"], ["a"], None, ["b", "c"]], pa.list_(pa.utf8())).slice(1)
    others = pa.array([["a"], [], ["b", "d"]], pa.list_(pa.utf8()))
    left = pa.table({"id": ["1", "2", "3"], "p": lists})
    assert differing(left, pa.table({"id": ["1", "2", "3"], "p": others})).tolist() == [
        False,
        True,
        True,
    ]
    assert differing(left, left).tolist() == [False, False, False]
