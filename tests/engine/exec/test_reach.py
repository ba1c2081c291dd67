"""What nodes reach along an edge type, and in how many steps."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph
from omnigraph.errors import InvalidInput, NotFound
from support.social import edge, social_graph

PEOPLE = ["A", "B", "C", "D", "E"]


def reached(graph: Graph, *args: object, **options: object) -> set[tuple[str, str, int]]:
    found = graph.reach("Knows", "Person", *args, **options).read_all()  # type: ignore[arg-type]
    columns = (column.to_pylist() for column in found.columns)
    pairs = list(zip(*columns, strict=True))
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def by_breadth(
    edges: set[tuple[str, str]], seed: str, low: int, high: int
) -> set[tuple[str, str, int]]:
    distance = {seed: 0}
    queue = deque([seed])
    while queue:
        node = queue.popleft()
        for src, dst in sorted(edges):
            if src == node and dst not in distance:
                distance[dst] = distance[node] + 1
                queue.append(dst)
    return {(seed, node, d) for node, d in distance.items() if low <= d <= high}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reach")


@given(
    st.sets(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE)), max_size=12),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_every_node_is_reached_at_its_shortest_distance(
    place: Path, edges: set[tuple[str, str]], low: int, more: int
) -> None:
    root = place / f"{len(list(place.iterdir()))}"
    graph = social_graph(str(root), PEOPLE, [f"{src}>{dst}" for src, dst in sorted(edges)])
    high = low + more
    for direction, followed in (
        ("out", edges),
        ("in", {(dst, src) for src, dst in edges}),
        ("both", edges | {(dst, src) for src, dst in edges}),
    ):
        expected = {row for seed in PEOPLE for row in by_breadth(followed, seed, max(low, 0), high)}
        found = reached(graph, None, min_steps=low, max_steps=high, direction=direction)
        assert found == expected


def test_seeds_that_are_not_there_reach_nothing(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), PEOPLE, ["A>B", "B>C"])
    assert reached(graph, ["A", "nobody"], max_steps=2) == {("A", "B", 1), ("A", "C", 2)}


def test_an_edge_between_two_types_is_one_step(tmp_path: Path) -> None:
    graph = social_graph(str(tmp_path / "g"), PEOPLE)
    with graph.transaction() as txn:
        txn.insert("Club", [{"name": "A"}, {"name": "chess"}])
        txn.insert("Member", [edge("A", "A"), edge("B", "A"), edge("B", "chess")])
    rows = graph.reach("Member", "Club", ["A"]).read_all().column("id").to_pylist()
    assert sorted(rows) == ["A", "B"]
    with pytest.raises(InvalidInput, match="no second step"):
        graph.reach("Member", "Person", max_steps=2).read_all()
    with pytest.raises(InvalidInput, match="not from or to"):
        graph.reach("Knows", "Club").read_all()
    with pytest.raises(NotFound):
        graph.reach("Nothing", "Person").read_all()
    with pytest.raises(InvalidInput, match="not a range"):
        graph.reach("Knows", "Person", min_steps=3, max_steps=1).read_all()
