"""The fast reading gives what the exact one gives, and any bytes give batches or a typed error."""

from __future__ import annotations

import io
import json
import random
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.loading.cases import EVERYTHING, outcome
from omnigraph.loading import json_columns, ndjson_reader, read_ndjson

SLOW_MACHINE = settings(deadline=None, max_examples=300)

PROPERTIES = {name: prop.type for name, prop in EVERYTHING.node("Every").by_name.items()}
_INTS = st.integers(-(2**65), 2**65)
_SMALL = st.integers(0, 1000)
_DATES = st.dates().map(str) | st.sampled_from(["0000-01-01", "2024-02-30", "20240101", "x"])
_TIMES = (
    st.datetimes().map(lambda t: t.isoformat())
    | st.datetimes().map(lambda t: t.isoformat(" ") + "Z")
    | st.builds(
        lambda t, h, m: f"{t.isoformat()}{h:+03d}:{m:02d}",
        st.datetimes(),
        st.integers(-30, 30),
        st.integers(0, 70),
    )
    | st.sampled_from(["2024-W01-1", "2024-01-01T24:00:00", "0000-12-31T23:00:00-05:00", "-"])
)
_TEXT = st.text() | st.sampled_from(['a":1', " :", "base64:", "base64:aGk=", "\\"])
_LEAF = st.one_of(
    st.none(), st.booleans(), _SMALL, _INTS, st.floats(), _TEXT, _DATES, _TIMES, st.just({"a": 1})
)


def fitting(name: str) -> st.SearchStrategy[object]:
    """Values that mostly fit the property of that name."""
    strategies: dict[str, st.SearchStrategy[object]] = {
        "b": st.booleans(),
        "d": _DATES | _SMALL,
        "t": _TIMES | _SMALL,
        "s": _TEXT,
        "e": st.sampled_from(["x", "y"]),
        "blob": st.binary().map(lambda b: "base64:" + __import__("base64").b64encode(b).decode()),
        "v": st.lists(st.floats(-10, 10) | _SMALL, min_size=3, max_size=3),
    }
    scalar = name[1:] if name.startswith("l") else name
    number = st.floats(width=32) if scalar.startswith("f") else _SMALL
    one = strategies.get(scalar, number)
    return st.lists(one, max_size=4) if name.startswith("l") else one


@st.composite
def lines(draw: st.DrawFn) -> str:
    """One record: right most of the time, wrong in any way some of the time."""
    kind = draw(st.sampled_from(["Every", "Every", "Every", "Strict", "Pair", "link", "BARE"]))
    data: dict[str, object] = {}
    if kind == "Every":
        for name in draw(st.lists(st.sampled_from(sorted(PROPERTIES)), max_size=6)):
            data[name] = draw(st.one_of(fitting(name), fitting(name), st.none(), _LEAF))
    elif kind == "Strict":
        data = {"n": draw(_SMALL), "s": draw(_TEXT)}
    elif kind == "Pair":
        data = {"a": draw(_SMALL), "b": draw(_TEXT)}
    if draw(st.integers(0, 5)) == 0:
        data["id"] = draw(st.sampled_from(["a", "7", 5, None]))
    if draw(st.integers(0, 30)) == 0:
        data[draw(st.sampled_from(["src", "_rowid", "q", "s"]))] = draw(_LEAF)
    envelope: dict[str, object] = {"type": kind, "data": data}
    if kind in ("link", "BARE"):
        envelope = {"edge": kind, "from": draw(_TEXT), "to": draw(_TEXT), "data": data}
    if draw(st.integers(0, 30)) == 0:
        envelope[draw(st.sampled_from(["data", "to", "edge", "type", "x"]))] = draw(_LEAF)
    if not data and draw(st.booleans()):
        envelope.pop("data", None)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\t :")]))
    return json.dumps(envelope, ensure_ascii=draw(st.booleans()), separators=separators)


_BAD = [
    '{"type":"Every","type":"Every"}',
    '{"type":"Every","data":{"s":"a","s":"b:c"}}',
    '{"type":"Every"}{"type":"Every"}',
    "[]",
    "{",
    '{"type":"Every","data":{"s":"\\ud800"}}',
    '{"type":"Every","data":{"i32":1e400}}',
    '{"type":"Every","data":{"f64":-0}}',
    '{"type":"Every","data":{"f64":-0.0}}',
    '{"type":"Every","data":{"s":"' + "x" * 5 + '"}}   ',
]


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    parts = draw(st.lists(lines() | lines() | st.sampled_from(["", " \t"]), max_size=12))
    if draw(st.integers(0, 3)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from(_BAD)))
    return draw(st.sampled_from(["\n", "\r\n"])).join(parts).encode("utf-8", "replace")


def exact_outcome(text: bytes) -> object:
    def give_up(*_: object) -> None:
        raise json_columns.NeedsExactReading

    with mock.patch.object(ndjson_reader, "_read_fast", give_up):
        return outcome(text, EVERYTHING)


@SLOW_MACHINE
@given(texts())
@example(b'{"type":"Every","data":{"f64":-0}}\n{"type":"Every","data":{"f64":-0.0}}')
def test_the_fast_and_the_exact_reading_agree(text: bytes) -> None:
    assert outcome(text, EVERYTHING) == exact_outcome(text)


@SLOW_MACHINE
@given(texts(), st.randoms(use_true_random=False))
def test_damaged_texts_read_the_same_on_both_paths(text: bytes, chance: random.Random) -> None:
    damaged = bytearray(text)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(damaged) + 1)
        damaged[at : at + chance.randint(0, 2)] = chance.choice(
            [b'"', b"{", b"}", b":", b",", b"\n", b"\\", b"\xff", b"1", b" ", b"null", b"", b"["]
        )
    assert outcome(bytes(damaged), EVERYTHING) == exact_outcome(bytes(damaged))


@SLOW_MACHINE
@given(
    st.binary(max_size=200)
    | st.text(alphabet='{}[]":,\\ntyped0.e-+ \n', max_size=80).map(str.encode)
)
def test_any_bytes_give_batches_or_a_typed_error(data: bytes) -> None:
    outcome(data, EVERYTHING)


def test_the_fast_reading_is_the_one_that_is_used() -> None:
    text = b"".join(
        b'{"type":"Strict","data":{"n":%d,"s":"%d: a : b"}}\n{"edge":"link","from":"a","to":"b"}\n'
        % (i, i)
        for i in range(5000)
    )
    with mock.patch.object(ndjson_reader, "_read_exact", side_effect=AssertionError("slow")):
        found = list(read_ndjson(io.BytesIO(text), EVERYTHING))
    assert sum(typed.batch.num_rows for typed in found) == 10_000
