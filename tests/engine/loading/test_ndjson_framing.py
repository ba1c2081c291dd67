"""One object per line, errors that name the line, ceilings (docs/design/loading.md#1-framing)."""

from __future__ import annotations

import io

import pytest

from engine.loading.cases import GARDEN, batches, refusal, rows
from omnigraph.errors import ResourceLimit
from omnigraph.loading import Limits, read_ndjson

GOOD = '{"type":"Visit","data":{"note":"wet"}}'


@pytest.mark.parametrize("text", ["", "\n", "\r\n\n  \t\n", " "])
def test_an_input_without_records_gives_no_batches(text: str) -> None:
    assert batches(text) == []


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", "\n \t\r\n"])
def test_the_last_line_needs_no_line_feed_and_crlf_is_fine(end: str) -> None:
    assert [row["note"] for row in rows(f"{GOOD}\r\n\n{GOOD}{end}", "Visit")] == ["wet", "wet"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (GOOD + GOOD, "invalid_json"),
        (GOOD + " " + GOOD, "invalid_json"),
        (GOOD + "\r" + GOOD, "invalid_json"),
        (GOOD + ",", "invalid_json"),
        ('{"type":"Visit",\n"data":{"note":"wet"}}', "invalid_json"),
        ("{", "invalid_json"),
        ("}", "invalid_json"),
        ("nonsense", "invalid_json"),
        ("\x0c", "invalid_json"),
        ("\ufeff" + GOOD, "invalid_json"),
        ('{"type":"Visit","data":{"note":"a\tb"}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":"\\ud800"}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":"\\udc00x"}}', "invalid_json"),
        ('{"type":"Visit","data":{"\\udc00":1e400}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":"\\x"}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":NaN}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":-Infinity}}', "invalid_json"),
        ('{"type":"Visit","data":{"note":01}}', "invalid_json"),
        ("{'type':'Visit'}", "invalid_json"),
        ("5", "not_an_object"),
        ("null", "not_an_object"),
        ('"text"', "not_an_object"),
        (f"[{GOOD}]", "not_an_object"),
        ('{"type":"Visit","type":"Visit","data":{"note":"a"}}', "duplicate_member"),
        ('{"type":"Visit","data":{"note":"a","note":"a"}}', "duplicate_member"),
        ('{"type":"Visit","data":{"note":"a","n\\u006fte":"a"}}', "duplicate_member"),
        ('{"type":"Visit","data":{"note" : "a","note"\t:"a:b"}}', "duplicate_member"),
        ('{"type":"Visit","data":{"note":{"x":1,"x":2}}}', "duplicate_member"),
        ('{"type":"Visit","data":{"note":[[{"x":{},"x":{}}]]}}', "duplicate_member"),
    ],
)
def test_a_line_that_is_not_one_object_is_refused_with_its_number(line: str, code: str) -> None:
    error = refusal(f"{GOOD}\n\n{line}\n{GOOD}\n")
    assert (error.reason, error.line) == (code, 3)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    error = refusal(GOOD.encode() + b'\n{"type":"Visit","data":{"note":"\xff"}}\n')
    assert (error.reason, error.line) == ("invalid_json", 2)


def test_texts_with_quotes_and_colons_are_not_taken_for_members() -> None:
    notes = ['"a": 1', 'x :"y" :', "12:30:00", '\\":', "é : \u0000 \U0001f600"]
    text = "\n".join(f'{{"type":"Visit","data":{{"note":{_json(n)}}}}}' for n in notes)
    assert [row["note"] for row in rows(text, "Visit")] == notes


def _json(text: str) -> str:
    import json

    return json.dumps(text)


def test_the_first_wrong_line_of_the_input_is_the_one_reported() -> None:
    wrong_id = '{"type":"Plant","data":{"id":"x","tag":"P","latin":"Q"}}'
    wrong_value = '{"type":"Visit","data":{"note":7}}'
    filler = [GOOD] * 5000
    assert refusal("\n".join([*filler, wrong_id, wrong_value])).reason == "id_mismatch"
    assert refusal("\n".join([*filler, wrong_value, wrong_id])).line == 5001
    assert refusal("\n".join([wrong_id, *filler, "{"])).line == 1
    two = [GOOD, wrong_id.replace("Plant", "Plant"), wrong_id, GOOD]
    assert refusal("\n".join(two)).line == 2


def test_a_source_that_gives_few_bytes_at_a_time_reads_the_same() -> None:
    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(7, size if size and size > 0 else 7))

    source = Trickle("\n".join([GOOD] * 20).encode())
    assert sum(t.batch.num_rows for t in read_ndjson(source, GARDEN)) == 20


def test_progress_reports_the_bytes_read() -> None:
    seen: list[int] = []
    text = (GOOD + "\n").encode() * 10
    list(read_ndjson(io.BytesIO(text), GARDEN, Limits(), seen.append))
    assert seen == [len(text)]


# --------------------------------------------------------------------------- ceilings


def ceiling(text: str, **limits: int) -> dict[str, object]:
    with pytest.raises(ResourceLimit) as caught:
        batches(text, GARDEN, **limits)
    found: dict[str, object] = caught.value.details["resource_limit"]
    return found


def test_ceilings_are_inclusive() -> None:
    size = len(GOOD)
    assert batches(f"{GOOD}\n{GOOD}", line_bytes=size, records=2, input_bytes=2 * size + 1)
    assert ceiling(f"{GOOD}\n{GOOD}", line_bytes=size - 1)["resource"] == "line_bytes"
    assert ceiling(GOOD, line_bytes=size - 1)["actual"] == size
    assert ceiling(f"{GOOD}\n{GOOD}", records=1) == {"resource": "records", "limit": 1, "actual": 2}
    assert ceiling(f"{GOOD}\n{GOOD}", input_bytes=2 * size)["resource"] == "input_bytes"


def test_nesting_is_limited_and_brackets_in_texts_do_not_count() -> None:
    deep = '{"type":"Visit","data":{"note":' + "[" * 62 + "]" * 62 + "}}"
    assert refusal(deep).reason == "value_type"
    deeper = '{"type":"Visit","data":{"note":' + "[" * 63 + "]" * 63 + "}}"
    assert ceiling(deeper) == {"resource": "depth", "limit": 64, "actual": 65}
    assert ceiling("[" * 200_000)["resource"] == "depth"
    assert ceiling("[" * 200_000, depth=10**9)["resource"] == "depth"
    assert batches('{"type":"Visit","data":{"note":"' + "[{" * 100 + '"}}')
    assert ceiling(GOOD, depth=1)["actual"] == 2


def test_a_line_longer_than_a_chunk_is_read() -> None:
    note = "x" * (20 * 1024 * 1024)
    text = f'{GOOD}\n{{"type":"Visit","data":{{"note":"{note}"}}}}\n{GOOD}'
    assert [len(row["note"]) for row in rows(text, "Visit")] == [3, len(note), 3]
    assert ceiling(" " * (33 * 1024 * 1024))["resource"] == "line_bytes"
