"""Envelope, ids and values; the L examples that need no graph.

The rules are docs/design/loading.md#2-envelope and docs/design/loading.md#3-values.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.loading.cases import EVERYTHING, GARDEN, batches, refusal, rows
from omnigraph.schema.model.arrow_schema import table_schema

STATE_A = """\
{"edge":"near","from":"P1","to":"P2","data":{"id":"n1","metres":2}}
{"type":"Plant","data":{"tag":"P1","latin":"Acer","height":310.5,"planted":"2024-01-01","labels":[]}}
{"type":"Plant","data":{"tag":"P2","latin":"Taxus","code":"T9"}}
{"type":"Visit","data":{"id":"v1","note":"wet"}}
"""


def test_l1_state_a_is_read_to_one_batch_per_type() -> None:
    found = {typed.type.table_key: typed for typed in batches(STATE_A)}
    counts = {key: typed.batch.num_rows for key, typed in found.items()}
    assert counts == {"edge:Near": 1, "node:Plant": 2, "node:Visit": 1}
    for typed in found.values():
        assert typed.batch.schema.equals(table_schema(typed.type), check_metadata=True)
        assert not typed.generated_ids
    assert rows(STATE_A, "Near") == [{"id": "n1", "src": "P1", "dst": "P2", "metres": 2.0}]
    assert rows(STATE_A, "Plant")[0] == {
        "id": "P1",
        "bed": None,
        "code": None,
        "height": 310.5,
        "labels": [],
        "latin": "Acer",
        "planted": 19723,
        "tag": "P1",
    }


def plant(member: str) -> str:
    """A Plant record with one member more, or instead."""
    data = {"tag": "P6", "latin": "Q"}
    text = json.dumps(data)[:-1]
    name = member.split(":")[0].strip('"')
    if name in data:
        del data[name]
        text = json.dumps(data)[:-1]
    return f'{{"type":"Plant","data":{text},{member}}}}}'


@pytest.mark.parametrize(
    ("member", "code", "field"),
    [
        ('"height":"tall"', "value_type", "height"),
        ('"height":1e39', "value_range", "height"),
        ('"labels":["a",null]', "value_type", "labels"),
        ('"labels":"a"', "value_type", "labels"),
        ('"planted":"2024-13-01"', "value_range", "planted"),
        ('"latin":null', "null_required", "latin"),
        ('"bed":5', "value_type", "bed"),
    ],
)
def test_l9_wrong_values_are_refused(member: str, code: str, field: str) -> None:
    error = refusal(STATE_A + plant(member))
    assert (error.reason, error.line, error.type_name, error.field) == (code, 5, "Plant", field)


def test_l10_a_day_number_and_a_date_text_are_the_same_day() -> None:
    text = plant('"planted":19723') + "\n" + plant('"planted":"2024-01-01"')
    assert {row["planted"] for row in rows(text, "Plant")} == {19723}


def test_l11_an_id_must_be_the_one_the_key_gives() -> None:
    wrong = refusal('{"type":"Plant","data":{"id":"p-1","tag":"P5","latin":"Q"}}')
    assert (wrong.reason, wrong.line, wrong.field) == ("id_mismatch", 1, "id")
    assert rows('{"type":"Plant","data":{"id":"P5","tag":"P5","latin":"Q"}}', "Plant")
    assert refusal(plant('"id":5')).reason == "id_not_string"
    assert refusal(plant('"id":null')).reason == "id_not_string"
    assert refusal('{"edge":"Near","from":"a","to":"b","data":{"id":5}}').reason == "id_not_string"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"type":"Plant","edge":"Near"}', "envelope_kind"),
        ('{"type":null,"edge":"Near","from":"a","to":"b"}', "envelope_kind"),
        ('{"data":{}}', "envelope_kind"),
        ("{}", "envelope_kind"),
        ('{"type":"Plant","data":{"tag":"P6","latin":"Q"},"branch":"x"}', "envelope_member"),
        ('{"edge":"Near","from":"P1"}', "envelope_member"),
        ('{"edge":"Near","from":"P1","to":null}', "envelope_member"),
        ('{"edge":"Near","from":"P1","to":7}', "envelope_member"),
        ('{"edge":"Near","from":"P1","to":"P2","data":null}', "envelope_member"),
        ('{"edge":"Near","from":"P1","to":"P2","data":[]}', "envelope_member"),
        ('{"edge":["Near"],"from":"P1","to":"P2"}', "envelope_member"),
        ('{"type":{},"data":{}}', "envelope_member"),
        ('{"type":"Visit","from":"P1","data":{"note":"x"}}', "envelope_member"),
        (plant('"nick":"z"'), "unknown_field"),
        (plant('"nick":null'), "unknown_field"),
        (plant('"src":"z"'), "unknown_field"),
        ('{"type":"Tree","data":{}}', "unknown_type"),
        ('{"type":"plant","data":{}}', "unknown_type"),
        ('{"type":"Near","data":{}}', "unknown_type"),
        ('{"edge":"Nearr","from":"P1","to":"P2"}', "unknown_type"),
        ('{"edge":"Near","from":"P1","to":"P2","data":{"src":"P2"}}', "reserved_field"),
        ('{"edge":"Near","from":"P1","to":"P2","data":{"from":"P2"}}', "unknown_field"),
        (plant('"_rowid":1'), "reserved_field"),
        (plant('"_tombstone":null'), "reserved_field"),
        ('{"type":"Visit","data":{"note":"x"},"_rowaddr":1}', "reserved_field"),
        ('{"type":"Plant","data":{"tag":"P6","tag":"P6","latin":"Q"}}', "duplicate_member"),
        ('{"type":"Plant"}', "null_required"),
    ],
)
def test_l12_wrong_envelopes_and_members_are_refused(line: str, code: str) -> None:
    error = refusal(STATE_A + line)
    assert (error.reason, error.line) == (code, 5)


def test_a_misspelled_name_brings_a_suggestion() -> None:
    assert "'latin'" in str(refusal(plant('"latn":"z"')))
    assert "'Plant'" in str(refusal('{"type":"Plan"}'))
    assert "'Near'" in str(refusal('{"edge":"Neer","from":"a","to":"b"}'))


def test_ids_are_derived_given_or_fresh() -> None:
    text = (
        '{"type":"Pair","data":{"b":"West","a":4}}\n{"type":"Every"}\n'
        '{"edge":"LINK","from":"a","to":"b"}\n{"edge":"link","from":"c","to":"d"}\n'
        '{"edge":"Bare","from":"a","to":"b","data":{}}\n'
        '{"edge":"bare","from":"c","to":"d","data":{"id":"mine"}}'
    )
    found = {typed.type.name: typed for typed in batches(text, EVERYTHING)}
    assert found["Pair"].batch["id"].to_pylist() == ['["4","West"]']
    assert [found[name].generated_ids for name in ("Every", "Link", "Bare")] == [True, True, False]
    fresh, mine = found["Bare"].batch["id"].to_pylist()
    assert len(fresh) == 26
    assert mine == "mine"
    assert found["Link"].batch["src"].to_pylist() == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("b", "true", True),
        ("i32", "-2147483648", -(2**31)),
        ("i32", "-0", 0),
        ("i64", "9223372036854775807", 2**63 - 1),
        ("u32", "4294967295", 2**32 - 1),
        ("u64", "18446744073709551615", 2**64 - 1),
        ("f64", "3", 3.0),
        ("f64", "1E2", 100.0),
        ("f64", "9007199254740993", 9007199254740992.0),
        ("f64", "123456789012345678901234567890", 123456789012345678901234567890.0),
        ("f64", "1e-400", 0.0),
        ("f32", "0.1", 0.10000000149011612),
        ("f32", "3.4028235e38", 3.4028234663852886e38),
        ("d", "-719162", -719162),
        ("d", '"0001-01-01"', -719162),
        ("d", '"2024-02-29"', 19782),
        ("t", "-1", -1),
        ("t", '"1970-01-01T00:00:01Z"', 1_000_000),
        ("t", '"1970-01-01"', 0),
        ("t", '"1970-01-01T00:00"', 0),
        ("t", '"1970-01-01 00:00:01"', 1_000_000),
        ("t", '"1970-01-01T01:00:00+01:00"', 0),
        ("t", '"1970-01-01T00:00:00.1234569"', 123_456),
        ("t", '"1969-12-31T23:59:59.9999999Z"', -1),
        ("t", '"19700101T000001Z"', 1_000_000),
        ("t", '"0001-01-01T00:00:00"', -62135596800000000),
        ("s", '"\\u0000é\\ud83d\\ude00"', "\0é\U0001f600"),
        ("ls", "[]", []),
        ("ls", "null", None),
        ("li64", "[1,-1]", [1, -1]),
        ("ld", '["1970-01-02",0]', [1, 0]),
        ("lt", '["1970-01-01T00:00:00.5Z"]', [500_000]),
        ("lf32", "[1,2.5]", [1.0, 2.5]),
        ("v", "[1,2.5,-0.0]", [1.0, 2.5, -0.0]),
        ("blob", '"base64:"', b""),
        ("blob", '"base64:aGk="', b"hi"),
        ("blob", "null", None),
    ],
)
def test_values_are_stored_as_the_table_says(name: str, text: str, stored: object) -> None:
    line = f'{{"type":"Every","data":{{"{name}":{text}}}}}'
    assert [row[name] for row in rows(f"{line}\n{line}", "Every", EVERYTHING)] == [stored] * 2


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("s", "1", "value_type"),
        ("b", "1", "value_type"),
        ("b", '"true"', "value_type"),
        ("i32", "3.0", "value_type"),
        ("i32", "1e2", "value_type"),
        ("i32", '"3"', "value_type"),
        ("i32", "true", "value_type"),
        ("i32", "2147483648", "value_range"),
        ("i64", "9223372036854775808", "value_range"),
        ("u32", "-1", "value_range"),
        ("u64", "18446744073709551616", "value_range"),
        ("u64", "1" + "0" * 10_000, "value_range"),
        ("f64", "1e400", "value_range"),
        ("f64", "1" + "0" * 10_000, "value_range"),
        ("f64", "true", "value_type"),
        ("f32", "3.4028236e38", "value_range"),
        ("lf32", "[1e39]", "value_range"),
        ("d", "2147483648", "value_range"),
        ("d", "1.0", "value_type"),
        ("d", '"2023-02-29"', "value_range"),
        ("d", '"0000-01-01"', "value_range"),
        ("d", '"2024-1-01"', "value_type"),
        ("d", '"2024-01-01T00:00:00"', "value_type"),
        ("d", '"２０２４-01-01"', "value_type"),
        ("t", "9223372036854775808", "value_range"),
        ("t", '"yesterday"', "value_type"),
        ("t", '"2024-01-01T25:00:00"', "value_range"),
        ("t", '"2024-01-01T24:00:00"', "value_type"),
        ("t", '"2024-01-01x00:00:00"', "value_type"),
        ("t", '"0000-12-31T23:00:00-05:00"', "value_range"),
        ("t", '"2024-01-01T00:00:60Z"', "value_range"),
        ("ls", '["a",1]', "value_type"),
        ("ls", "{}", "value_type"),
        ("li32", "[1,[2]]", "value_type"),
        ("li32", "[3000000000]", "value_range"),
        ("v", "[1,2]", "vector_dim"),
        ("v", "[]", "vector_dim"),
        ("v", "[1,null,2]", "vector_element"),
        ("v", '[1,"2",2]', "vector_element"),
        ("v", "[1,true,2]", "vector_element"),
        ("v", "[1,1e39,2]", "vector_element"),
        ("v", "1", "value_type"),
        ("blob", "5", "value_type"),
        ("blob", '"s3://bucket/key"', "blob_input"),
        ("blob", '"base64:aGk"', "blob_input"),
        ("blob", '"base64:aGl="', "blob_input"),
        ("blob", '"base64:aG k="', "blob_input"),
        ("blob", '"base64:_-=="', "blob_input"),
        ("blob", '"base64:é"', "blob_input"),
    ],
)
def test_values_of_the_wrong_kind_or_range_are_refused(name: str, text: str, code: str) -> None:
    error = refusal(
        f'{{"type":"Every"}}\n{{"type":"Every","data":{{"{name}":{text}}}}}', EVERYTHING
    )
    facts = (error.reason, error.line, error.type_name, error.field)
    assert facts == (code, 2, "Every", name)
    assert len(str(error)) < 300


def test_a_column_may_mix_spellings() -> None:
    values: list[Any] = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00", 0, None, "2024-01-01"]
    text = "\n".join(json.dumps({"type": "Every", "data": {"t": v}}) for v in values)
    found = [row["t"] for row in rows(text, "Every", EVERYTHING)]
    assert found == [1704067200000000, 1704067200000000, 0, None, 1704067200000000]


def test_every_line_may_have_its_own_type() -> None:
    text = STATE_A * 3000
    counts = {t.type.table_key: t.batch.num_rows for t in batches(text, GARDEN)}
    assert counts == {"edge:Near": 3000, "node:Plant": 6000, "node:Visit": 3000}
