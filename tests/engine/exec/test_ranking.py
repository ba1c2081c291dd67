"""Ranking: filter before search, entities stay together, text is embedded at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.errors import InvalidInput
from omnigraph.exec.graph.exec_context import ExecContext


@dataclass(frozen=True)
class Table:
    """An embedder that knows a few words."""

    model: str = "table"
    dimension: int = 2

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        known = {"left": [0.0, 0.0], "right": [3.0, 0.0]}
        return np.array([known[text] for text in texts], np.float32)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("ranking")
    graph = omnigraph.init(
        str(root),
        "node Doc { k: String @key body: String? vec: Vector(2)? "
        'other: Vector(2)? @embed("body", model="table") }\n'
        "node Tag { k: String @key n: I64 }\nedge Has: Doc -> Tag",
    )
    with graph.transaction() as txn:
        txn.insert(
            "Doc",
            [
                {"k": "a", "body": "red kite", "vec": [1.0, 0.0], "other": [0.0, 0.0]},
                {"k": "b", "body": "red red kite", "vec": [1.0, 0.0], "other": [1.0, 0.0]},
                {"k": "c", "body": None, "vec": None, "other": None},
                {"k": "d", "body": "blue", "vec": [2.0, 0.0], "other": [3.0, 0.0]},
            ],
        )
        txn.insert("Tag", [{"k": f"t{i}", "n": n} for i, n in enumerate([5, 1, 3])])
        pairs = [("a", "t0"), ("a", "t1"), ("b", "t2"), ("d", "t2"), ("c", "t0")]
        txn.insert("Has", [{"src": s, "dst": d} for s, d in pairs])
    return graph


def test_rows_of_an_entity_stay_together(graph: Graph) -> None:
    body = (
        "match { $d: Doc  $d has $t } return { $d.k, $t.n } "
        "order { nearest($d.vec, [1.0, 0.0]), $t.n } limit "
    )
    everything = [("a", 1), ("a", 5), ("b", 3), ("d", 3)]
    for limit in range(5):
        assert values(read(graph, body + str(limit))) == everything[:limit]


def test_the_match_comes_before_the_ranking(graph: Graph) -> None:
    body = (
        "match { $d: Doc  $d has $t  $t.n = 3 } return { $d.k, nearest($d.vec, [0.0, 0.0]) as x } "
        "order { nearest($d.vec, [0.0, 0.0]) } limit 2"
    )
    assert values(read(graph, body)) == [("b", 1.0), ("d", 2.0)]


def test_fusion_ranks_only_what_matches(graph: Graph) -> None:
    body = (
        'match { $d: Doc  not { $d.k = "a" } } return { $d.k } '
        'order { rrf(bm25($d.body, "red"), nearest($d.vec, [2.0, 0.0])) } limit 5'
    )
    assert values(read(graph, body)) == ["b", "d"]


def test_text_is_embedded_with_the_model_of_the_property(graph: Graph) -> None:
    body = "match { $d: Doc } return { $d.k } order { nearest($d.other, $q) } limit 2"

    def run(context: ExecContext) -> list[str]:
        return values(read(graph, body, {"q": "right"}, declare="$q: String", context=context))

    assert run(ExecContext(embedder=lambda dimension: Table())) == ["d", "b"]
    with pytest.raises(InvalidInput, match="holds vectors of 'table'"):
        run(ExecContext(embedder=lambda dimension: Table("another")))
    with pytest.raises(InvalidInput, match="no embedder"):
        run(ExecContext())


def test_search_filters_and_is_returned(graph: Graph) -> None:
    body = (
        'match { $d: Doc  search($d.body, "kites") } return { $d.k, match_text($d.body, "blue") }'
    )
    assert sorted(values(read(graph, body))) == [("a", False), ("b", False)]
    body = 'match { $d: Doc  fuzzy($d.body, "blux", 1)  $d has $t } return { count($t) as n }'
    assert values(read(graph, body)) == [1]
