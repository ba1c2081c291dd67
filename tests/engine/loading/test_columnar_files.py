"""Parquet, CSV and Arrow inputs: columns by name, ids, formats and rows in errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from engine.loading.cases import EVERYTHING, GARDEN, plain
from omnigraph.errors import InvalidInput, LoadError, NotFound
from omnigraph.loading import read_columnar
from omnigraph.loading.typed_batch import EntityType
from omnigraph.schema.model.arrow_schema import table_schema

PLANT = GARDEN.node("Plant")
VISIT = GARDEN.node("Visit")
NEAR = GARDEN.edge("Near")
EVERY = EVERYTHING.node("Every")

PLANTS = pa.table({"latin": ["Acer", "Taxus"], "tag": ["P1", "P2"], "height": [310.5, None]})


def read(source: object, type_: EntityType, format_: Any = None) -> list[dict[str, Any]]:  # noqa: ANN401
    found = []
    for typed in read_columnar(source, type_, format_):
        assert typed.batch.schema.equals(table_schema(type_), check_metadata=True)
        found += plain(typed.batch)
    return found


def refusal(source: object, type_: EntityType) -> LoadError:
    with pytest.raises(LoadError) as caught:
        read(source, type_)
    return caught.value


def facts(error: LoadError) -> tuple[str, int | None, str | None]:
    return error.reason, error.line, error.field


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "plants.parquet": pa.parquet.write_table,
    "plants.csv": pa.csv.write_csv,
    "plants.feather": pa.feather.write_feather,
    "plants.arrow": pa.feather.write_feather,
    "plants.ipc": write_stream,
    "plants.arrows": write_stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](PLANTS, path)
    expected = read(PLANTS, PLANT)
    assert [row["id"] for row in expected] == ["P1", "P2"]
    assert read(path, PLANT) == expected
    assert read(str(path), PLANT) == expected
    renamed = path.rename(tmp_path / "plants.data")
    format_ = {"parquet": "parquet", "csv": "csv"}.get(name.split(".")[1], "arrow")
    assert read(renamed, PLANT, format_) == expected
    with pytest.raises(InvalidInput, match="format"):
        read(renamed, PLANT)


@pytest.mark.parametrize(
    "source",
    [
        PLANTS.to_reader(),
        PLANTS.to_batches()[0],
        pa.dataset.dataset(PLANTS),
        pa.dataset.dataset(PLANTS).scanner(),
    ],
)
def test_arrow_data_in_memory_is_read(source: object) -> None:
    assert read(source, PLANT) == read(PLANTS, PLANT)


def test_what_has_no_columns_is_refused() -> None:
    with pytest.raises(InvalidInput, match="int"):
        read(5, PLANT)


def test_edges_take_src_and_dst_or_from_and_to() -> None:
    rows = read(pa.table({"src": ["a"], "dst": ["b"], "id": ["n"]}), NEAR)
    assert rows == [{"id": "n", "src": "a", "dst": "b", "metres": None}]
    assert read(pa.table({"to": ["b"], "id": ["n"], "from": ["a"]}), NEAR) == rows


@pytest.mark.parametrize(
    ("columns", "type_", "expected"),
    [
        ({"tag": ["a"], "latin": ["b"], "nick": ["c"]}, PLANT, ("unknown_field", None, "nick")),
        ({"note": ["b"], "src": ["c"]}, VISIT, ("unknown_field", None, "src")),
        ({"note": ["b"], "_rowid": [1]}, VISIT, ("reserved_field", None, "_rowid")),
        ({"tag": ["a"]}, PLANT, ("null_required", None, "latin")),
        ({"tag": ["a", "b"], "latin": ["x", None]}, PLANT, ("null_required", 2, "latin")),
        ({"src": ["a"]}, NEAR, ("envelope_member", None, "dst")),
        ({"src": ["a"], "dst": [None]}, NEAR, ("envelope_member", None, "dst")),
        ({"src": ["a", None], "dst": ["a", "b"]}, NEAR, ("envelope_member", 2, "src")),
        ({"src": [1], "dst": ["b"]}, NEAR, ("envelope_member", None, "src")),
        ({"src": ["a"], "from": ["a"], "dst": ["b"]}, NEAR, ("duplicate_member", None, "from")),
        ({"note": ["b"], "id": [5]}, VISIT, ("id_not_string", None, "id")),
        (
            {"tag": ["a", "b"], "latin": ["x", "y"], "id": [None, "q"]},
            PLANT,
            ("id_mismatch", 2, "id"),
        ),
    ],
)
def test_names_and_ids_follow_the_same_rules_as_records(
    columns: dict[str, list[object]], type_: EntityType, expected: tuple[str, int | None, str]
) -> None:
    found = facts(refusal(pa.table(columns), type_))
    if columns.get("dst") == [None]:  # a column of nulls is a column of missing ids
        expected = ("envelope_member", 1, "dst")
    assert found == expected


def test_a_misspelled_column_brings_a_suggestion() -> None:
    assert "'note'" in str(refusal(pa.table({"not": ["x"]}), VISIT))


def test_the_earliest_row_is_the_one_reported() -> None:
    table = pa.table({"i32": [1, 2, 2**40], "u32": [1, -1, 2]})
    assert facts(refusal(table, EVERY)) == ("value_range", 2, "u32")


def test_ids_are_given_or_fresh() -> None:
    (typed,) = read_columnar(pa.table({"note": ["a", "b"]}), VISIT)
    assert typed.generated_ids
    (typed,) = read_columnar(pa.table({"note": ["a", "b"], "id": ["x", None]}), VISIT)
    assert not typed.generated_ids
    assert typed.batch["id"][0].as_py() == "x"
    assert len(typed.batch["id"][1].as_py()) == 26


def test_rows_are_counted_over_batches() -> None:
    good = pa.table({"i32": pa.array([1] * 200_000)})
    table = pa.concat_tables([good, pa.table({"i32": pa.array([2**40])})])
    assert facts(refusal(table, EVERY)) == ("value_range", 200_001, "i32")


# --------------------------------------------------------------------------- CSV


def csv(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "some.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_csv_cells_are_converted_by_the_schema(tmp_path: Path) -> None:
    text = (
        "id,i64,f32,b,d,t,s,ls,v,blob\r\n"
        '1,9007199254740993,0.5,true,2024-01-01,2024-01-01T12:00:00Z,"a, ""b""\nc",'
        '"[""x""]","[1,2.5,3]",base64:aGk=\r\n'
        '2,,,,19723,1704110400000000,"",[],,\r\n'
        "3,-1,1e3,False,,,,,,\r\n"
    )
    first, second, third = read(csv(tmp_path, text), EVERY)
    assert first["id"] == "1"
    assert first["i64"] == 9007199254740993
    assert (first["f32"], first["b"], first["d"], first["t"]) == (
        0.5,
        True,
        19723,
        1704110400000000,
    )
    assert (first["s"], first["ls"], first["v"]) == ('a, "b"\nc', ["x"], [1.0, 2.5, 3.0])
    assert first["blob"] == b"hi"
    assert (second["s"], second["ls"], second["v"], second["i64"]) == ("", [], None, None)
    assert (second["d"], second["t"], second["blob"]) == (19723, 1704110400000000, None)
    assert (third["f32"], third["b"], third["s"]) == (1000.0, False, None)


@pytest.mark.parametrize(
    ("text", "code", "row", "field"),
    [
        ("i32\n1\nx\n", "value_type", 2, "i32"),
        ("i32\n1\n3.0\n", "value_type", 2, "i32"),
        ("i32\n3000000000\n", "value_range", 1, "i32"),
        ("b\nyes\n", "value_type", 1, "b"),
        ("f64\n1\nnan\n", "value_range", 2, "f64"),
        ("f32\n1e39\n", "value_range", 1, "f32"),
        ("d\n2024-01-01\n2024-13-01\n", "value_range", 2, "d"),
        ("t\nsoon\n", "value_type", 1, "t"),
        ('v\n"[1,2,3]"\n"[1,2]"\n', "vector_dim", 2, "v"),
        ('v\n"[1,null,2]"\n', "vector_element", 1, "v"),
        ("ls\n[]\nred\n", "value_type", 2, "ls"),
        ("blob\ns3://x\n", "blob_input", 1, "blob"),
        ("i32,s\n1,a\n2\n", "invalid_json", 2, None),
        ("i32,i32\n1,2\n", "duplicate_member", None, "i32"),
        ("wat\n1\n", "unknown_field", None, "wat"),
    ],
)
def test_wrong_csv_cells_are_refused_with_their_row(
    tmp_path: Path, text: str, code: str, row: int | None, field: str | None
) -> None:
    assert facts(refusal(csv(tmp_path, text), EVERY)) == (code, row, field)


def test_a_wrong_csv_cell_far_into_the_file_is_found(tmp_path: Path) -> None:
    text = "i32,s\n" + "1,some text to fill blocks\n" * 400_000 + "x,\n"
    assert facts(refusal(csv(tmp_path, text), EVERY)) == ("value_type", 400_001, "i32")


def test_an_empty_csv_has_no_rows(tmp_path: Path) -> None:
    assert read(csv(tmp_path, ""), EVERY) == []
    assert read(csv(tmp_path, "i32,s\n"), EVERY) == []


# --------------------------------------------------------------------------- broken files


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read(tmp_path / "none.parquet", PLANT)


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_gives_a_typed_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](PLANTS, path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"\xff\x00" * 50, b"ARROW1", b"PAR1"):
        path.write_bytes(damaged)
        with pytest.raises(LoadError):
            read(path, PLANT)


def test_text_in_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    note = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    pa.feather.write_feather(pa.table({"note": note}), tmp_path / "bad.arrow")
    assert refusal(tmp_path / "bad.arrow", VISIT).reason == "invalid_json"
    assert refusal(csv(tmp_path, b"note\n\xff\n"), VISIT).reason in ("invalid_json", "value_type")
