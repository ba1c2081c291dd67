"""The shape of exported lines (docs/design/loading.md#8-export), and that they read back."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.loading.cases import EVERYTHING, GARDEN, batches, plain
from engine.loading.test_ndjson_records import STATE_A
from omnigraph.loading import export_ndjson, read_ndjson
from omnigraph.loading.typed_batch import EntityType
from omnigraph.schema.model.arrow_schema import table_schema


def exported(*tables: tuple[EntityType, pa.RecordBatch]) -> str:
    out = io.BytesIO()
    count = export_ndjson([(type_, partial(iter, [batch])) for type_, batch in tables], out)
    assert count == sum(batch.num_rows for _, batch in tables)
    return out.getvalue().decode()


def test_l19_state_a_is_written_as_the_example_shows() -> None:
    found = {typed.type.table_key: typed for typed in batches(STATE_A)}
    text = exported(*((found[key].type, found[key].batch) for key in sorted(found)))
    assert text == (
        '{"edge":"Near","from":"P1","to":"P2","data":{"id":"n1","metres":2.0}}\n'
        '{"type":"Plant","data":{"id":"P1","bed":null,"code":null,"height":310.5,"labels":[],'
        '"latin":"Acer","planted":19723,"tag":"P1"}}\n'
        '{"type":"Plant","data":{"id":"P2","bed":null,"code":"T9","height":null,"labels":null,'
        '"latin":"Taxus","planted":null,"tag":"P2"}}\n'
        '{"type":"Visit","data":{"id":"v1","note":"wet"}}\n'
    )
    again = {typed.type.table_key: typed for typed in batches(text)}
    assert exported(*((again[key].type, again[key].batch) for key in sorted(again))) == text


EVERY = EVERYTHING.node("Every")


def one(name: str, value: object) -> str:
    """The text of one value of the type that has every kind of property."""
    row = {field.name: None for field in table_schema(EVERY)} | {"id": "a", name: value}
    schema = table_schema(EVERY)
    columns = [pa.array([row[field.name]], field.type) for field in schema]
    line = exported((EVERY, pa.RecordBatch.from_arrays(columns, schema=schema)))
    start = line.index(f'"{name}":') + len(name) + 3
    rest = [p.name for p in EVERY.properties if p.name > name]
    return line[start : line.index(f',"{rest[0]}":')] if rest else line[start:-3]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("f64", 2.0, "2.0"),
        ("f64", -0.0, "-0.0"),
        ("f64", 0.1, "0.1"),
        ("f32", 0.1, "0.1"),
        ("f32", 16777216.0, "16777216.0"),
        ("b", True, "true"),
        ("i64", -(2**63), str(-(2**63))),
        ("u64", 2**64 - 1, str(2**64 - 1)),
        ("s", 'é"\\\n\t\x00\x1f/\x7f', '"é\\"\\\\\\n\\t\\u0000\\u001f/\x7f"'),
        ("blob", b"", '"base64:"'),
        ("blob", b"hi", '"base64:aGk="'),
        ("v", [1.0, 0.1, -2.5], "[1.0,0.1,-2.5]"),
        ("v", None, "null"),
        ("ls", [], "[]"),
        ("ls", ["a", '"'], '["a","\\""]'),
        ("lf64", [1.0, 2.5], "[1.0,2.5]"),
        ("lb", [True, False], "[true,false]"),
        ("ld", [1, 2], "[1,2]"),
    ],
)
def test_values_are_written_as_the_table_says(name: str, value: object, text: str) -> None:
    assert one(name, value) == text


def numbers(dtype: type) -> st.SearchStrategy[int]:
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max))


_F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
_F64 = st.floats(allow_nan=False, allow_infinity=False)
_SCALARS: dict[str, st.SearchStrategy[object]] = {
    "b": st.booleans(),
    "d": numbers(np.int32),
    "f32": _F32,
    "f64": _F64,
    "i32": numbers(np.int32),
    "i64": numbers(np.int64),
    "s": st.text(),
    "t": numbers(np.int64),
    "u32": numbers(np.uint32),
    "u64": numbers(np.uint64),
}
_VALUES = (
    _SCALARS
    | {f"l{name}": st.lists(values, max_size=3) for name, values in _SCALARS.items()}
    | {
        "id": st.text(),
        "blob": st.binary(max_size=20),
        "e": st.sampled_from(["x", "y"]),
        "v": st.lists(_F32, min_size=3, max_size=3),
    }
)


@st.composite
def every_batches(draw: st.DrawFn) -> pa.RecordBatch:
    rows = draw(st.integers(1, 5))
    columns = []
    for field in table_schema(EVERY):
        values = _VALUES[field.name]
        some = st.none() | values if field.nullable else values
        drawn = draw(st.lists(some, min_size=rows, max_size=rows))
        columns.append(pa.array(drawn, field.type))
    batch = pa.RecordBatch.from_arrays(columns, schema=table_schema(EVERY))
    return batch.slice(draw(st.integers(0, rows - 1)))


@settings(deadline=None, max_examples=200)
@given(every_batches())
def test_exported_rows_read_back_to_the_same_values(batch: pa.RecordBatch) -> None:
    text = exported((EVERY, batch))
    for line in text.splitlines() if "\x85" not in text and "\u2028" not in text else []:
        json.loads(line)
    (typed,) = read_ndjson(io.BytesIO(text.encode()), EVERYTHING)
    assert repr(plain(typed.batch)) == repr(plain(batch))


def test_float32_digits_read_back_at_every_magnitude() -> None:
    bits = np.random.default_rng(7).integers(0, 2**32, 200_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    schema = table_schema(EVERY)
    columns = [
        pa.array([str(i) for i in range(len(values))])
        if field.name == "id"
        else pa.array(values)
        if field.name == "f32"
        else pa.nulls(len(values), field.type)
        for field in schema
    ]
    text = exported((EVERY, pa.RecordBatch.from_arrays(columns, schema=schema)))
    found = pa.concat_arrays(
        [typed.batch["f32"] for typed in read_ndjson(io.BytesIO(text.encode()), EVERYTHING)]
    )
    assert np.array_equal(found.to_numpy().view(np.uint32), values.view(np.uint32))


def test_progress_counts_rows_and_empty_tables_write_nothing() -> None:
    visit = GARDEN.node("Visit")
    schema = table_schema(visit)
    two = pa.RecordBatch.from_pydict({"id": ["a", "b"], "note": ["x", "y"]}, schema=schema)
    seen: list[int] = []

    def twice() -> Iterator[pa.RecordBatch]:
        yield from (two, two.slice(0, 0), two)

    out = io.BytesIO()
    assert export_ndjson([(visit, twice)], out, seen.append) == 4
    assert seen == [2, 2, 4]
    assert out.getvalue().count(b"\n") == 4


def test_a_batch_with_other_spellings_of_its_types_is_written_alike() -> None:
    visit = GARDEN.node("Visit")
    wide = pa.RecordBatch.from_pydict(
        {"note": pa.array(["x"], pa.large_string()), "id": pa.array(["a"], pa.string_view())}
    )
    assert exported((visit, wide)) == '{"type":"Visit","data":{"id":"a","note":"x"}}\n'
