"""An identity is given out once, whatever branches and processes change schemas together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import omnigraph
from omnigraph.errors import ReadSetConflict
from omnigraph.schema import Catalog

BASE = "node A { name: String @key }\n"


def identities(catalog: Catalog) -> dict[int, str]:
    found = {t.identity: t.name for t in catalog.types()}
    return found | {p.identity: f"{t.name}.{p.name}" for t in catalog.types() for p in t.properties}


def test_a_change_prepared_before_another_branch_took_identities_is_refused(root: str) -> None:
    graph = omnigraph.init(root, BASE)
    graph.create_branch("wip")
    other = omnigraph.open(root)
    with pytest.raises(ReadSetConflict, match="schema change"), graph.transaction("wip") as late:
        late.apply_schema(BASE + "node B { name: String @key }\n")
        other.apply_schema(BASE + "node C { name: String @key  n: I64? }\n")
    assert "B" not in graph.schema("wip").catalog.nodes


@pytest.mark.parametrize("handles", ["shared", "own"])
def test_schemas_that_change_side_by_side_share_no_identity(root: str, handles: str) -> None:
    graph = omnigraph.init(root, BASE)
    branches = [f"b{n}" for n in range(6)]
    for branch in branches:
        graph.create_branch(branch)

    def change(branch: str) -> None:
        mine = graph if handles == "shared" else omnigraph.open(root, retry_budget=50)
        mine.apply_schema(BASE + f"node T{branch} {{ name: String @key }}\n", branch=branch)

    shared = omnigraph.open(root, retry_budget=50)
    graph = shared if handles == "shared" else graph
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, branches))
    seen: dict[int, str] = {}
    for branch in branches:
        for identity, name in identities(graph.schema(branch).catalog).items():
            assert seen.setdefault(identity, name) == name
