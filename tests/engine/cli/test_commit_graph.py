"""The drawing of a history shows every commit once, and leads from each to exactly its parents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from omnigraph.cli.versioning.commit_graph import draw, plain
from omnigraph.storage.core.model import Commit
from omnigraph.storage.refs.commit_order import newest_first

START = datetime(2026, 1, 1, tzinfo=UTC)
CASES = {
    title.strip(): body
    for title, _, body in (
        section.partition("\n")
        for section in Path(__file__).with_name("histories.txt").read_text().split("== ")[1:]
    )
}


def commit(name: str, parents: tuple[str, ...] = (), hour: int = 0, version: int = 1) -> Commit:
    time = START + timedelta(hours=hour)
    return Commit(name, "main", version, parents, time, None, None, "s", (), {})


@pytest.mark.parametrize("title", CASES)
def test_draws(title: str) -> None:
    given, _, drawn = CASES[title].partition("--\n")
    commits = []
    for line in given.splitlines():
        name, _, parents = line.partition(":")
        commits.append(commit(name, tuple(parents.split())))
    lines = [
        f"{line.drawn} {line.commit.id}" if line.commit else line.drawn for line in draw(commits)
    ]
    assert lines == drawn.rstrip("\n").splitlines()
    assert all(line.isascii() for line in map(plain, lines))


@st.composite
def histories(draw_: st.DrawFn) -> dict[str, Commit]:
    """Any graph of commits with up to two parents each, some of them roots, with odd clocks."""
    commits: dict[str, Commit] = {}
    for n in range(draw_(st.integers(1, 14))):
        older = st.lists(st.sampled_from(sorted(commits)), max_size=2, unique=True)
        parents = tuple(draw_(older)) if commits else ()
        commits[f"c{n}"] = commit(f"c{n}", parents, draw_(st.integers(0, 9)), n + 1)
    return commits


@given(histories())
def test_children_come_before_parents_and_nobody_is_lost(commits: dict[str, Commit]) -> None:
    ordered = newest_first(commits, commits)
    place = {each.id: at for at, each in enumerate(ordered)}
    assert sorted(place) == sorted(commits) and len(ordered) == len(commits)
    assert all(place[each.id] < place[p] for each in ordered for p in each.parents)


@given(histories(), st.data())
def test_tips_lead_to_their_ancestors_only(commits: dict[str, Commit], data: st.DataObject) -> None:
    tip = data.draw(st.sampled_from(sorted(commits)))
    found = {each.id for each in newest_first([tip], commits)}
    wanted, waiting = set(), [tip]
    while waiting:
        current = waiting.pop()
        wanted.add(current)
        waiting += commits[current].parents
    assert found == wanted


@given(histories())
def test_following_the_lines_leads_to_the_parents(commits: dict[str, Commit]) -> None:
    lines = draw(newest_first(commits, commits))
    assert sorted(line.commit.id for line in lines if line.commit) == sorted(commits)
    cells = [line.drawn for line in lines]
    for row, line in enumerate(lines):
        if line.commit is not None:
            column = line.drawn.index("●")
            reached = {_name(lines[r].commit) for r in follow(cells, row, column)}
            assert reached == set(line.commit.parents), "\n".join(cells)


def _name(found: Commit | None) -> str:
    assert found is not None
    return found.id


def follow(cells: list[str], start: int, column: int) -> set[int]:
    """The rows of the commits that the lines down from a commit lead to."""
    reached: set[int] = set()
    waiting = [(start + 1, column)]
    while waiting:
        row, at = waiting.pop()
        sign = cell(cells, row, at)
        if sign == "●":
            reached.add(row)
        elif sign in "│┼":
            waiting.append((row + 1, at))
        elif sign in "├┤":
            waiting.append((row + 1, at))
            if (row, at) == (start + 1, column):
                # Right below a merge the stroke leads to its other parent.
                waiting += [(row + 1, end) for end in away(cells, row, at)]
        elif sign in "╯┴":
            waiting.append((row + 1, along(cells, row, at, -1)))
        else:
            assert sign in " ─", sign
    return reached


def along(cells: list[str], row: int, at: int, step: int) -> int:
    """Where a stroke ends."""
    at += step
    while cell(cells, row, at) in "─┼┴":
        at += step
    return at


def away(cells: list[str], row: int, at: int) -> list[int]:
    """Where a stroke from a commit above leads to; nowhere when it is others that come in."""
    step = 1 if cell(cells, row, at) == "├" else -1
    if cell(cells, row, at + step) != "─":
        return []
    end = along(cells, row, at, step)
    return [end] if cell(cells, row, end) in "├┤╮" else []


def cell(cells: list[str], row: int, at: int) -> str:
    return cells[row][at] if row < len(cells) and at < len(cells[row]) else " "
