"""The states of a disk that a power cut may leave, built from recorded file operations.

What was synced is there. Of the rest: names persist in the order they were made ("in order", as a
journal keeps them), or any of them do ("any", which is all that POSIX promises); bytes that were
not synced are lost, there by half, there, or zero where the length was kept and the bytes were not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, cycle
from pathlib import Path
from typing import Literal

from support.file_operations import Emptied, Named, Noted, Operation, Synced, Written, put

Names = Literal["in order", "any"]
Data = Literal["lost", "half", "kept", "zero", "mixed"]
NAMES: tuple[Names, ...] = ("in order", "any")
DATA: tuple[Data, ...] = ("lost", "half", "kept", "zero", "mixed")
ROOT = 0
Entry = tuple[int, str]
"""A name in a folder: it goes where the folder goes."""


@dataclass(frozen=True)
class PowerCut:
    """A moment (after so many operations) and what became of what was not synced."""

    after: int
    names: Names
    data: Data
    seed: int


def power_cuts(parts: Sequence[range], seed: int) -> Iterator[PowerCut]:
    """Cuts without end, one in each part of a run in turn, then again, so that a short part is cut
    as often as a long one; every rule is used equally often."""
    chance = random.Random(seed)
    rules = cycle(chance.sample([(names, data) for names in NAMES for data in DATA], k=10))
    for part, (names, data) in zip(cycle(parts), rules, strict=False):
        yield PowerCut(chance.choice(part), names, data, chance.getrandbits(32))


def notes_before(operations: Sequence[Operation], cut: PowerCut) -> int:
    """How many notes the process had made."""
    return sum(isinstance(each, Noted) for each in operations[: cut.after])


def without_syncs(
    operations: Sequence[Operation], left_out: Callable[[str], bool]
) -> list[Operation]:
    """What a process would have done that does not sync some paths."""
    kept = [not isinstance(each, Synced) or not left_out(each.path) for each in operations]
    before = [0, *accumulate(kept)]
    return [
        replace(each, since=before[each.since]) if isinstance(each, Synced) else each
        for each, is_kept in zip(operations, kept, strict=True)
        if is_kept
    ]


def build_state(operations: Sequence[Operation], cut: PowerCut, root: str, target: Path) -> None:
    """Make the state that a cut leaves below a root, in another place."""
    done = operations[: cut.after]
    chance = random.Random(cut.seed)
    synced: dict[int, int] = {}
    for each in done:
        if isinstance(each, Synced):
            synced[each.file] = max(synced.get(each.file, 0), each.since)
    names, folders = _names(done, synced, cut.names, root, chance)
    contents = {
        file: _contents(done, file, synced.get(file, 0), cut.data, chance)
        for file in sorted(set(names.values()) - folders)
    }
    target.mkdir(parents=True)
    places = [(ROOT, target)]
    for folder, place in places:
        for (holder, name), file in sorted(names.items()):
            if holder != folder:
                continue  # what is in a folder that lost its name is lost with it
            if file in folders:
                (place / name).mkdir()
                places.append((file, place / name))
            else:
                (place / name).write_bytes(contents[file])


def _names(
    done: Sequence[Operation], synced: dict[int, int], rule: Names, root: str, chance: random.Random
) -> tuple[dict[Entry, int], set[int]]:
    """The entries of folders that persisted, and which of the files are folders."""
    changes = [(index, each) for index, each in enumerate(done) if isinstance(each, Named)]
    now: dict[Entry, int] = {}
    durable = []
    entries: list[tuple[list[Entry], list[tuple[Entry, int]]]] = []
    for index, change in changes:
        gone = [_entry(now, root, path) for path in change.gone]
        came = [(_entry(now, root, path), file) for path, file in change.came]
        entries.append((gone, came))
        holders = [holder for holder, _ in (*gone, *(entry for entry, _ in came))]
        durable.append(all(index < synced.get(holder, 0) for holder in holders))
        for entry in gone:
            now.pop(entry, None)
        now.update(came)
    if rule == "in order":
        least = max((i + 1 for i, is_durable in enumerate(durable) if is_durable), default=0)
        kept = [True] * chance.randint(least, len(changes))
    else:
        share = chance.choice([0.0, 0.5, 1.0])
        kept = [is_durable or chance.random() < share for is_durable in durable]
    names: dict[Entry, int] = {}
    for (gone, came), is_kept in zip(entries, kept, strict=False):
        if is_kept:
            for entry in gone:
                names.pop(entry, None)
            names.update(came)
    made = (change for _, change in changes if change.folder)
    return names, {ROOT} | {file for change in made for _, file in change.came}


def _entry(names: dict[Entry, int], root: str, path: str) -> Entry:
    """The folder that a path was in at some moment, and its name there."""
    *above, name = Path(path).relative_to(root).parts
    folder = ROOT
    for part in above:
        folder = names[folder, part]
    return folder, name


def _contents(
    done: Sequence[Operation], file: int, synced: int, rule: Data, chance: random.Random
) -> bytes:
    contents = bytearray()
    rule = chance.choice(("lost", "half", "kept", "zero")) if rule == "mixed" else rule
    for index, each in enumerate(done):
        is_kept = index < synced or rule == "kept"
        if isinstance(each, Emptied) and each.file == file and is_kept:
            contents.clear()
        if isinstance(each, Written) and each.file == file:
            if is_kept:
                put(contents, each.offset, each.data)
            elif rule == "half":
                put(contents, each.offset, each.data[: len(each.data) // 2])
            elif rule == "zero":
                put(contents, each.offset, bytes(len(each.data)))
    return bytes(contents)
