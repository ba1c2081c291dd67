"""Changes single bits of a graph's files, one after the other, and says what each comes to.

Runs in a process of its own: some damage has ended the process it was read in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import omnigraph
from omnigraph import Graph
from omnigraph.errors import OmniGraphError
from support.graphs import contents
from support.workers.reporting import report, wait_for_go

INDEXED = "query q() { match { $p: Person  $p.age = 9 } return { $p.name } }"
WORDS = 'query q() { match { $p: Person  search($p.bio, "boats") } return { count($p) } }'
WALK = 'query q() { match { $p: Person { name: "p3" }  $p knows{1,3} $f } return { $f.name } }'

Answer = list[str]


def work(asked: dict[str, Any]) -> None:
    wait_for_go()
    root = Path(asked["root"])
    report("answers", answers=answers(root))
    for number, (path, offset, bit) in enumerate(asked["flips"]):
        file = root / path
        before = file.read_bytes()
        changed = bytearray(before)
        changed[offset] ^= 1 << bit
        file.write_bytes(changed)
        found = {"answers": answers(root), "deep": answer(lambda: verified(opened(root)))}
        file.write_bytes(before)
        report("outcome", number=number, **found)
    report("end")


def opened(root: Path) -> Graph:
    return omnigraph.open(str(root))


def answers(root: Path) -> list[Answer]:
    """What a fresh reader gets from each kind of read."""
    try:
        graph = opened(root)
    except BaseException:  # noqa: BLE001  then every read ends like this
        return [answer(lambda: opened(root))] * len(READS)
    return [answer(lambda read=read: read(graph)) for read in READS]  # type: ignore[misc]


def answer(read: Callable[[], object]) -> Answer:
    """Rows, or the code of an error; anything else must not happen, and is reported, too."""
    try:
        return ["rows", repr(read())]
    except OmniGraphError as error:
        return ["error", error.code, error.message]
    except BaseException as error:  # noqa: BLE001
        return ["untyped", type(error).__name__, str(error)[:300]]


def verified(graph: Graph) -> object:
    return [finding.to_json() for finding in graph.verify(deep=True).findings]


def by_id(graph: Graph) -> object:
    snapshot = graph.snapshot()
    return [snapshot.get("Person", name) for name in ("p7", "p9", "p300", "p595", "nobody")]


def queried(graph: Graph) -> object:
    return [graph.query(text).to_arrow().to_pylist() for text in (INDEXED, WORDS, WALK)]


READS: tuple[Callable[[Graph], object], ...] = (
    by_id,
    queried,
    lambda graph: contents(graph),
    lambda graph: contents(graph, "main@v2"),
)
