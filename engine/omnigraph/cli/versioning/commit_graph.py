"""The history as a drawing: one lane for each line of development, merges with both parents.

    ●   merge
    ├─╮
    │ ● on the branch
    ● │ on main
    ├─╯
    ●   where they parted

`├`, `┤`, `╮`, `╯` and `┴` join lines, `┼` is a line that passes behind another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from omnigraph.storage.core.model import Commit

_PLAIN = str.maketrans("●│├┤─╮╯┴┼", "*|||-.''+")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the drawing, and the commit on it if there is one."""

    drawn: str
    commit: Commit | None = None


def draw(commits: Sequence[Commit]) -> list[Line]:
    """The lines for commits that come children first; parents that are not among them end."""
    known = {commit.id for commit in commits}
    lanes: list[str | None] = []
    lines: list[Line] = []
    ended: int | None = None  # a new lane right below a root would look like its parent
    for commit in commits:
        lines += _joined(lanes, commit.id)
        if commit.id not in lanes:
            lanes[_free(lanes, 0, ended)] = commit.id
        own = lanes.index(commit.id)
        lines.append(Line(_row(lanes, {own: "●"}), commit))
        parents = [parent for parent in commit.parents if parent in known]
        lanes[own] = parents[0] if parents else None
        ended = None if parents else own
        lines += [_parted(lanes, own, other) for other in parents[1:]]
        while lanes and lanes[-1] is None:
            lanes.pop()
    return lines


def plain(text: str) -> str:
    """The drawing in ASCII, for terminals that have nothing else."""
    return text.translate(_PLAIN)


def _joined(lanes: list[str | None], commit: str) -> Iterator[Line]:
    """Lanes that wait for the same commit run into the first of them."""
    waiting = [at for at, wanted in enumerate(lanes) if wanted == commit]
    if len(waiting) < 2:
        return
    first, last = waiting[0], waiting[-1]
    signs = dict.fromkeys(waiting, "┴") | {first: "├", last: "╯"}
    line = Line(_row(lanes, signs, (first, last)))
    for at in waiting[1:]:
        lanes[at] = None
    yield line


def _parted(lanes: list[str | None], own: int, parent: str) -> Line:
    """A line from a merge to its other parent: to the lane that waits for it, or to a new one."""
    if parent in lanes[:own] + [None] + lanes[own + 1 :]:
        there = next(at for at, wanted in enumerate(lanes) if wanted == parent and at != own)
        low, high = sorted((own, there))
        return Line(_row(lanes, {low: "├", high: "┤"}, (low, high)))
    there = _free(lanes, own + 1)
    lanes[there] = parent
    return Line(_row(lanes, {own: "├", there: "╮"}, (own, there)))


def _free(lanes: list[str | None], start: int, avoid: int | None = None) -> int:
    """The first lane from `start` on that is not in use, a new one if need be."""
    at = start
    while at == avoid or (at < len(lanes) and lanes[at] is not None):
        at += 1
    lanes += [None] * (at + 1 - len(lanes))
    return at


def _row(
    lanes: Sequence[str | None], signs: dict[int, str], across: tuple[int, int] | None = None
) -> str:
    """One line: given signs, lanes that go on, and a stroke across some of them."""
    low, high = across or (0, 0)
    cells = []
    for at, wanted in enumerate(lanes):
        inside = low < at < high
        if at in signs:
            sign = signs[at]
        elif wanted is None:
            sign = "─" if inside else " "
        else:
            sign = "┼" if inside else "│"
        cells.append(sign + ("─" if low <= at < high else " "))
    return "".join(cells).rstrip()
