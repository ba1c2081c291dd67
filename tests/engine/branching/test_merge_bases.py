"""The base of a merge is the nearest common ancestor, over both parents of merges."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from omnigraph.errors import Corruption
from omnigraph.storage.merge_bases import merge_base

Dag = dict[str, tuple[str, ...]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[Dag, str, str, dict[str, int]]:
    """Random commits, each with one or two parents that are older, two heads, and versions."""
    size = draw(st.integers(1, 24))
    parents: Dag = {"c00": ()}
    versions = {"c00": 1}
    for number in range(1, size):
        older = sorted(parents)
        first = draw(st.sampled_from(older))
        second = draw(st.none() | st.sampled_from(older))
        name = f"c{number:02}"
        parents[name] = (first,) if second in (None, first) else (first, second)  # type: ignore[assignment]
        versions[name] = versions[first] + 1
    return (
        parents,
        draw(st.sampled_from(sorted(parents))),
        draw(st.sampled_from(sorted(parents))),
        versions,
    )


def distances(parents: Dag, head: str) -> dict[str, int]:
    """How far every ancestor is, by trying longer and longer paths."""
    found = {head: 0}
    for _ in parents:
        for commit in list(found):
            for parent in parents[commit]:
                found[parent] = min(found.get(parent, 99), found[commit] + 1)
    return found


@given(histories())
def test_it_is_what_a_search_of_all_ancestors_finds(
    history: tuple[Dag, str, str, dict[str, int]],
) -> None:
    parents, source, target, versions = history
    near, far = distances(parents, source), distances(parents, target)
    common = near.keys() & far.keys()
    ranked = sorted(common, key=lambda c: (-(near[c] + far[c]), versions[c], c))
    assert merge_base(parents, source, target, versions.__getitem__) == ranked[-1]


def test_versions_are_looked_up_only_to_break_a_tie() -> None:
    line: Dag = {f"c{n}": (f"c{n - 1}",) if n else () for n in range(1000)}
    asked: list[str] = []
    assert merge_base(line, "c999", "c990", lambda c: len(asked.append(c) or c)) == "c990"  # type: ignore[func-returns-value]
    assert asked == []


def test_histories_without_a_common_commit_are_damage() -> None:
    with pytest.raises(Corruption, match="no common ancestor"):
        merge_base({"a": (), "b": ()}, "a", "b", lambda _: 1)
