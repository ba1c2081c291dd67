"""Any bytes: a load succeeds or fails with a typed error, and a failed one changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import omnigraph
from omnigraph.errors import Conflict, InvalidInput, OmniGraphError
from support.graphs import STATE_A, contents, garden

LINES = [line.encode() for line in STATE_A.splitlines()]
TOKENS = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"\n", b"\\", b"\\u0000", b"\\ud800", b"null"]
TOKENS += [b"1e999", b"-0", b"NaN", b"\x00", b"\xff", b'"id":', b'"id":""', b'"type":"Plant"']

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["2024-01-01", "base64:", "P1", "north", "v1", "n1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)
FIELDS = ["id", "tag", "latin", "height", "planted", "bed", "labels", "code", "note", "metres", "x"]
DATA = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["Plant", "Visit", "Near"]) | VALUES,
        "edge": st.sampled_from(["Near", "SEEN", "Plant"]) | VALUES,
        "from": st.sampled_from(["P1", "P9"]) | VALUES,
        "to": st.sampled_from(["P1", "v1"]) | VALUES,
        "data": DATA | VALUES,
    },
)


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """Valid lines with a piece cut out, doubled or put in."""
    text = b"\n".join(draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(TOKENS) | st.binary(max_size=4)) + text[stop:]
    return text


INPUTS = (
    st.binary(max_size=60)
    | mangled()
    | st.lists(RECORDS, min_size=1, max_size=3).map(
        lambda records: "\n".join(json.dumps(record) for record in records).encode()
    )
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[omnigraph.Graph]:
    place: Path = tmp_path_factory.mktemp("any") / "graph"
    yield garden(str(place))
    assert omnigraph.open(place).verify(rules=True).ok


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(text=INPUTS, mode=st.sampled_from(["append", "merge", "overwrite"]))
def test_any_bytes_load_or_fail_typed_and_whole(
    graph: omnigraph.Graph, text: bytes, mode: omnigraph.loading.load.LoadMode
) -> None:
    before, head = contents(graph), graph.branches()[0].commit
    try:
        result = graph.load(text, mode=mode)
    except OmniGraphError as error:
        assert isinstance(error, InvalidInput | Conflict), repr(error)
        assert error.message and error.to_json()["error"]
        json.dumps(error.to_json())
        assert graph.branches()[0].commit == head
        assert contents(graph) == before
    else:
        assert graph.branches()[0].commit == result.commit.id != head
        if not result.total_entities:
            assert contents(graph) == before
