"""The nearest entities, found without measuring all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.graph.exec_context import ExecContext

SCHEMA = """
node Place { key: I64 @key  group: I64  at: Vector(2)? }
edge Near: Place -> Place {}
"""
PLACES = 3000
RANKED = "order { nearest($p.at, $v) } limit 7"


@pytest.fixture(scope="module")
def places() -> list[dict[str, Any]]:
    """On a small grid, so that most distances tie; some are nowhere."""
    rng = np.random.default_rng(3)
    return [
        {
            "key": key,
            "group": int(rng.integers(3)),
            "at": None if key % 11 == 0 else rng.integers(0, 6, 2).astype(float).tolist(),
        }
        for key in range(PLACES)
    ]


@pytest.fixture(scope="module")
def graph(places: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = omnigraph.init(tmp_path_factory.mktemp("nearest") / "g.omni", SCHEMA)
    with made.transaction() as txn:
        txn.insert("Place", places)
        txn.insert("Near", [{"from": str(k), "to": str(k * 7 % PLACES)} for k in range(PLACES)])
    return made


def _nearest(places: list[dict[str, Any]], group: int | None = None) -> list[tuple[float, str]]:
    """Distance from (2, 3) and id of all that are somewhere, in order."""
    return sorted(
        (float(np.hypot(place["at"][0] - 2, place["at"][1] - 3)), str(place["key"]))
        for place in places
        if place["at"] is not None and group in (None, place["group"])
    )


@pytest.mark.parametrize("group", [None, 1])
def test_ties_break_by_id_and_filters_come_first(
    graph: Graph, places: list[dict[str, Any]], group: int | None
) -> None:
    only = "" if group is None else f"{{ group: {group} }}"
    found = read(
        graph,
        f"match {{ $p: Place {only} }} return {{ nearest($p.at, $v) as d  $p }} {RANKED}",
        {"v": [2, 3]},
        declare="$v: Vector(2)",
    )
    assert values(found) == _nearest(places, group)[:7]


def test_rows_of_one_entity_share_its_place(graph: Graph, places: list[dict[str, Any]]) -> None:
    found = read(
        graph,
        f"match {{ $p: Place  $q near $p  $p near $r }} return {{ $p }} {RANKED}",
        {"v": [2, 3]},
        declare="$v: Vector(2)",
    )
    into = {str(k): 0 for k in range(PLACES)}
    for key in range(PLACES):
        into[str(key * 7 % PLACES)] += 1
    expected = [id_ for _, id_ in _nearest(places) for _ in range(into[id_])]
    assert values(found) == expected[:7]


def test_text_is_embedded_once_in_a_run(graph: Graph) -> None:
    asked: list[str] = []

    class Counting:
        model, dimension = "counting", 2

        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            asked.extend(texts)
            return np.array([[2, 3]] * len(texts), np.float32)

    found = read(
        graph,
        f"match {{ $p: Place }} return {{ nearest($p.at, $v) as d }} {RANKED}",
        {"v": "here"},
        declare="$v: String",
        context=ExecContext(embedder=lambda dimension: Counting()),
    )
    assert values(found) == [0.0] * 7
    assert asked == ["here"]
