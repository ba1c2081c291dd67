"""Damages files of a graph, one after the other, and says what each damage comes to.

Runs in a process of its own: some damage has ended the process it was read in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import omnigraph
import omnigraph_sql
from omnigraph import Graph
from omnigraph.errors import OmniGraphError
from support.graphs import contents
from support.workers.reporting import report, wait_for_go

INDEXED = "query q() { match { $p: Person  $p.age = 9 } return { $p.name } }"
WORDS = 'query q() { match { $p: Person  search($p.bio, "boats") } return { count($p) } }'
WALK = 'query q() { match { $p: Person { name: "p3" }  $p knows{1,3} $f } return { $f.name } }'
SQL = (
    'SELECT count(*), sum(age), max(bio) FROM nodes."Person"',
    'SELECT name FROM nodes."Person" WHERE age = 9',
    "SELECT count(*), sum(n) FROM main.numbers",
)

Answer = list[str]
Damage = dict[str, Any]
"""How a file is damaged, its path, and what else that takes."""


def work(asked: dict[str, Any]) -> None:
    wait_for_go()
    root = Path(asked["root"])
    report("answers", answers=answers(root))
    for damage in asked["damages"]:
        with damaged(root, damage):
            report(
                "outcome",
                answers=answers(root),
                quick=answer(lambda: findings(root, deep=False)),
                deep=answer(lambda: findings(root, deep=True)),
            )
    report("end")


# --------------------------------------------------------------------------- damage


@contextmanager
def damaged(root: Path, damage: Damage) -> Iterator[None]:
    """Files are damaged inside this block, and whole again after it."""
    paths = [root / damage[name] for name in ("path", "other") if name in damage]
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    DAMAGES[damage["how"]](damage, *paths)
    try:
        yield
    finally:
        for path, stored in before.items():
            path.unlink(missing_ok=True)
            if stored is not None:
                path.write_bytes(stored)


def flip(damage: Damage, path: Path) -> None:
    changed = bytearray(path.read_bytes())
    changed[damage["offset"]] ^= 1 << damage["bit"]
    path.write_bytes(changed)


def zero(damage: Damage, path: Path) -> None:
    """A page of zeros, as a disk leaves one that was never written."""
    changed = bytearray(path.read_bytes())
    start = damage["offset"] // 512 * 512
    changed[start : start + 512] = bytes(len(changed[start : start + 512]))
    path.write_bytes(changed)


def truncate(damage: Damage, path: Path) -> None:
    path.write_bytes(path.read_bytes()[: damage["offset"]])


def replace(_: Damage, path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def swap(_: Damage, path: Path, other: Path) -> None:
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def lose(_: Damage, path: Path) -> None:
    path.unlink()


def add(_: Damage, path: Path) -> None:
    path.write_bytes(b"a file of somebody else")


DAMAGES: dict[str, Callable[..., None]] = {
    "flip": flip,
    "zero": zero,
    "truncate": truncate,
    "replace": replace,
    "swap": swap,
    "lose": lose,
    "add": add,
}


# --------------------------------------------------------------------------- reading


def opened(root: Path) -> Graph:
    return omnigraph.open(str(root))


def findings(root: Path, *, deep: bool) -> object:
    return [finding.to_json() for finding in opened(root).verify(deep=deep).findings]


def answers(root: Path) -> list[Answer]:
    """What a fresh reader gets from each kind of read."""
    try:
        graph = opened(root)
    except BaseException:  # noqa: BLE001  then every read ends like this
        return [answer(lambda: opened(root))] * len(READS)
    return [answer(lambda read=read: read(graph)) for read in READS]  # type: ignore[misc]


def answer(read: Callable[[], object]) -> Answer:
    """Rows, or a typed error; anything else must not happen, and is reported, too."""
    try:
        return ["rows", repr(read())]
    except OmniGraphError as error:
        return ["error", error.code, f"{error.message} {error.details}"]
    except BaseException as error:  # noqa: BLE001
        return ["untyped", type(error).__name__, str(error)[:300]]


def by_id(graph: Graph) -> object:
    snapshot = graph.snapshot()
    return [snapshot.get("Person", name) for name in ("p7", "p9", "p300", "p595", "nobody")]


def queried(graph: Graph) -> object:
    return [graph.query(text).to_arrow().to_pylist() for text in (INDEXED, WORDS, WALK)]


def by_sql(graph: Graph) -> object:
    with omnigraph_sql.connect(graph).cursor() as cursor:
        return [cursor.execute(text).fetchall() for text in SQL]


READS: tuple[Callable[[Graph], object], ...] = (
    by_id,
    queried,
    by_sql,
    lambda graph: contents(graph),
    lambda graph: contents(graph, "main@v2"),
    lambda graph: contents(graph, "draft"),
)
