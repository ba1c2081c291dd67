"""The base of a merge is a common ancestor that no other descends from, the nearest of them."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from omnigraph.errors import Corruption
from omnigraph.storage.refs.merge_base import merge_base

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
    above = {a for c in common for a in distances(parents, c) if a != c}
    ranked = sorted(common - above, key=lambda c: (-(near[c] + far[c]), versions[c], c))
    assert merge_base(parents, source, target, versions.__getitem__) == ranked[-1]


def test_a_commit_that_is_nearer_by_way_of_an_old_branch_is_not_the_base() -> None:
    """A branch of long ago was merged into main after the source was forked."""
    history: Dag = {f"m{n}": (f"m{n - 1}",) if n else () for n in range(10)}
    history |= {"old": ("m2",), "m10": ("m9", "old"), "source": ("m4",)}
    assert merge_base(history, "source", "m10", lambda _: 1) == "m4"


def test_what_was_merged_long_ago_is_still_merged() -> None:
    history: Dag = {f"m{n}": (f"m{n - 1}",) if n else () for n in range(10)}
    history |= {"done": ("m1",), "m2": ("m1", "done"), "old": ("m0",), "m10": ("m9", "old")}
    assert merge_base(history, "done", "m10", lambda _: 1) == "done"


def test_versions_are_looked_up_only_to_break_a_tie() -> None:
    line: Dag = {f"c{n}": (f"c{n - 1}",) if n else () for n in range(1000)}
    asked: list[str] = []
    assert merge_base(line, "c999", "c990", lambda c: len(asked.append(c) or c)) == "c990"  # type: ignore[func-returns-value]
    assert asked == []


def test_histories_without_a_common_commit_are_damage() -> None:
    with pytest.raises(Corruption, match="no common ancestor"):
        merge_base({"a": (), "b": ()}, "a", "b", lambda _: 1)
