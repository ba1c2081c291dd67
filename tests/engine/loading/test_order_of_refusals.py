"""Which of several faults a load is refused for, whatever types they are in.

The order is docs/design/loading.md#5-validation.
"""

from __future__ import annotations

import pytest

import omnigraph
from omnigraph.errors import ConstraintViolation, KeyConflict, LoadError
from omnigraph.loading import ndjson_reader as reading
from omnigraph.storage.tables import write_buffer
from support.graphs import Row, edge, ndjson, node

SCHEMA = """
node Anchor { name: String @key  code: String? @unique }
node Aardvark { name: String @key  age: I64?  @range(age, 0..99) }
node Zebra { name: String @key  age: I64?  @range(age, 0..99) }
edge Binds: Anchor -> Zebra
"""
REPEATED = [node("Anchor", name="a"), node("Anchor", name="a")]
TAKEN = [node("Anchor", name="there")]
TWO_OF_A_CODE = [node("Anchor", name="b", code="x"), node("Anchor", name="c", code="x")]
DANGLING = [edge("Binds", "nobody", "nowhere")]


@pytest.fixture
def graph(root: str) -> omnigraph.Graph:
    graph = omnigraph.init(root, SCHEMA)
    graph.load(ndjson(node("Anchor", name="there")))
    return graph


@pytest.mark.parametrize("earlier", [REPEATED, TAKEN, TWO_OF_A_CODE, DANGLING])
@pytest.mark.parametrize("aged", ["Aardvark", "Zebra"])
@pytest.mark.parametrize("spilled", [False, True])
def test_values_come_before_what_is_looked_up(
    graph: omnigraph.Graph,
    monkeypatch: pytest.MonkeyPatch,
    earlier: list[Row],
    aged: str,
    spilled: bool,
) -> None:
    if spilled:
        monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    with pytest.raises(ConstraintViolation) as refused:
        graph.load(ndjson(*earlier, node(aged, name="z", age=100)), mode="append")
    assert refused.value.kind == "range"


def test_ids_come_before_endpoints(graph: omnigraph.Graph) -> None:
    with pytest.raises(KeyConflict):
        graph.load(ndjson(*DANGLING, *TAKEN), mode="append")


def test_an_input_that_cannot_be_read_is_refused_for_that(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows before the fault were written, and so checked, meanwhile."""
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(reading, "BATCH_BYTES", 1)
    text = ndjson(*(node("Zebra", name=f"z{i}", age=100) for i in range(500))) + b"{\n"
    with pytest.raises(LoadError) as refused:
        graph.load(text, mode="append")
    assert refused.value.details["load_error"]["code"] == "invalid_json"
    assert graph.snapshot().count("Zebra") == 0
