"""The order is total: null below every value, ties by ids, the limit cuts where it should."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.evaluate import sort_keys
from omnigraph.exec.graph import bindings


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("order")
    graph = omnigraph.init(
        str(root), "node P { k: String @key n: I32? x: F64? s: String? }\nedge E: P -> P { w: I32 }"
    )
    rng = random.Random(3)
    people = [
        {
            "k": f"p{i:03}",
            "n": rng.choice([None, -1, 0, 1, 2]),
            "x": rng.choice([None, -0.0, 0.0, 1.5, -2.5]),
            "s": rng.choice([None, "", "a", "é", "z"]),
        }
        for i in range(120)
    ]
    rng.shuffle(people)
    with graph.transaction() as txn:
        txn.insert("P", people)
        txn.insert(
            "E",
            [{"id": f"e{i}", "src": "p000", "dst": f"p{i % 7:03}", "w": i % 2} for i in range(30)],
        )
    return graph


def everybody(graph: Graph) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = graph.snapshot().scan("P").read_all().to_pylist()
    return found


def below(value: Any, text: bool = False) -> Any:  # noqa: ANN401
    return (value is not None, value.encode() if text and value is not None else value or 0)


@pytest.mark.parametrize("limit", [None, 0, 1, 7, 50, 1000])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", ["n", "x", "s"])
@pytest.mark.parametrize("chunk", [8, 1 << 18])
def test_one_key_then_ids(
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    descending: bool,
    limit: int | None,
    chunk: int,
) -> None:
    monkeypatch.setattr(sort_keys, "CHUNK", chunk)
    monkeypatch.setattr(bindings.Bindings.chunks, "__defaults__", (chunk,))
    expected = sorted(everybody(graph), key=lambda p: str(p["k"]))
    expected.sort(key=lambda p: below(p[name], name == "s"), reverse=descending)
    if descending:  # a reversed sort is stable, so ties are still by id
        assert expected[-1][name] is None
    tail = "" if limit is None else f" limit {limit}"
    found = values(
        read(
            graph,
            f"match {{ $p: P }} return {{ $p.k }} "
            f"order {{ $p.{name}{' desc' if descending else ''} }}{tail}",
        )
    )
    assert found == [p["k"] for p in expected][:limit]


def test_two_keys_in_two_directions(graph: Graph) -> None:
    expected = sorted(everybody(graph), key=lambda p: str(p["k"]))
    expected.sort(key=lambda p: below(p["n"]))
    expected.sort(key=lambda p: below(p["s"], True), reverse=True)
    found = values(read(graph, "match { $p: P } return { $p.k } order { $p.s desc, $p.n }"))
    assert found == [p["k"] for p in expected]


def test_hidden_edges_break_ties_by_id(graph: Graph) -> None:
    found = values(
        read(
            graph,
            "match { $p: P  $p $w:e $q } return { $w.w, $q.k } order { $w.w } limit 15",
        )
    )
    edges = graph.snapshot().scan("E").read_all().to_pylist()
    expected = sorted(edges, key=lambda e: (e["w"], e["src"], e["dst"], e["id"]))
    assert found == [(e["w"], e["dst"]) for e in expected][:15]


def test_groups_break_ties_on_their_keys(graph: Graph) -> None:
    found = values(
        read(
            graph,
            "match { $p: P } return { $p.s, $p.n, count($p) as c } order { c desc } limit 6",
        )
    )
    groups: dict[tuple[Any, Any], int] = {}
    for person in everybody(graph):
        key = (person["s"], person["n"])
        groups[key] = groups.get(key, 0) + 1
    expected = sorted(groups.items(), key=lambda g: (-g[1], below(g[0][0], True), below(g[0][1])))
    assert found == [(*key, count) for key, count in expected][:6]


def test_without_an_order_a_limit_only_counts(graph: Graph) -> None:
    assert len(values(read(graph, "match { $p: P } return { $p.k } limit 11"))) == 11
    empty = read(graph, "match { $p: P } return { $p.k, $p.n } limit 0").to_arrow()
    assert empty.num_rows == 0
    assert [str(field.type) for field in empty.schema] == ["string", "int32"]
