"""Writes to graphs in every way there is, and notes after each step what they show: what a power
cut may interrupt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import lance
import pyarrow as pa

import omnigraph
from omnigraph import Graph
from omnigraph.bulk import BulkJob, StagedFiles, Target, write_rows
from omnigraph.storage.core.file_sync import FileSync, files_below
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.format_version import STAMP
from omnigraph.storage.tables import key_lookup, tables, write_buffer
from support.graph_state import State, state_of

REPLACED = 10
KEPT = 2
"""So few that the versions of a short run are trimmed."""
SCHEMA = """
node Person { name: String @key  age: I64?  photo: Blob?  about: String? @index }
edge Knows: Person -> Person
"""
CHANGED = f"""
{SCHEMA.replace("age: I64?", "age: I64?  email: String?")}
node Club {{ name: String @key }}
"""
QUERY = "query everybody() { match { $p: Person } return { $p.name as name } }"
OLD = "node Boat { name: String @key }"


class Disk:
    """The folder with the graph, its backup and others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def graph(self) -> Graph:
        return omnigraph.open(self.place("graph"))


def _init(disk: Disk) -> None:
    omnigraph.init(disk.place("graph"), SCHEMA)


def _insert(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.insert("Person", people(range(8)))
        txn.insert("Knows", [{"src": "p0", "dst": f"p{i}"} for i in range(1, 8)])


def _replace(disk: Disk) -> None:
    """Done so often that small fragments are compacted and versions are trimmed."""
    graph = disk.graph
    with graph.transaction() as txn:
        txn.upsert("Person", people([0, 20 + graph.snapshot().version], age=7))


def _delete_with_edges(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.delete("Person", ids=["p3"])


def _delete_many(disk: Disk) -> None:
    """More than Lance marks for us."""
    tables.MARKED_BY_LANCE = 2
    with disk.graph.transaction() as txn:
        txn.delete("Person", ids=[f"p{i}" for i in range(4, 8)])


def _overwrite(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.overwrite("Knows", [{"src": "p1", "dst": "p2"}])


def _load(disk: Disk) -> None:
    disk.graph.load({"Person": pa.Table.from_pylist(people(range(100, 300)))})


def _index_by_a_small_write(disk: Disk) -> None:
    """The first small write after a load builds the index it needs."""
    key_lookup.PROBED_ROWS = 100
    with disk.graph.transaction() as txn:
        txn.upsert("Person", people([150], age=8))


def _spill(disk: Disk) -> None:
    write_buffer.SPILL_BYTES = 1000
    with disk.graph.transaction() as txn:
        txn.insert("Person", people(range(400, 460)))
        txn.insert("Person", people(range(460, 500)))
    write_buffer.SPILL_BYTES = 64 << 20


def _bulk_job(disk: Disk) -> None:
    """Data files by processes that never see the manifest."""
    graph = disk.graph
    job = graph.begin_bulk([Target("node:Person")])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        files = list(pool.map(_write_rows, [(job, 600), (job, 700)]))
    graph.finish_bulk(job, files)


def _write_rows(part: tuple[BulkJob, int]) -> StagedFiles:
    job, first = part
    rows = pa.Table.from_pylist(people(range(first, first + 5)))
    return write_rows(job, "node:Person", rows.to_reader())


def _abandoned_job(disk: Disk) -> None:
    graph = disk.graph
    job = graph.begin_bulk([Target("node:Person")])
    _write_rows((job, 800))
    graph.abandon_bulk(job)


def _mutate(disk: Disk) -> None:
    disk.graph.mutate('query add() { insert Person { name: "by a mutation", age: 3 } }')


def _create_branch(disk: Disk) -> None:
    disk.graph.create_branch("work")


def _diverge(disk: Disk) -> None:
    graph = disk.graph
    with graph.transaction("work") as txn:
        txn.upsert("Person", people([1, 900], age=70))
        txn.insert("Knows", [{"src": "p1", "dst": "p900"}])


def _diverge_back(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.upsert("Person", people([2, 901], age=71))


def _tag(disk: Disk) -> None:
    disk.graph.tags.create("v1")


def _merge(disk: Disk) -> None:
    disk.graph.merge("work")


def _fast_forward(disk: Disk) -> None:
    disk.graph.merge("main", into="work")


def _delete_branch(disk: Disk) -> None:
    disk.graph.delete_branch("work")


def _protect(disk: Disk) -> None:
    disk.graph.protect_branch("work")


def _unprotect(disk: Disk) -> None:
    disk.graph.unprotect_branch("work")


def _apply_schema(disk: Disk) -> None:
    disk.graph.apply_schema(CHANGED)


def _create_table(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.create_table("raw.events", pa.schema([("n", pa.int64())]))
        txn.append("raw.events", [{"n": n} for n in range(5)])


def _change_table(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.append("raw.events", [{"n": 9}])
        txn.plain.clone(txn.plain.table("raw.events"), "raw.copy")


def _drop_table(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.drop_table("raw.copy")


def _register_queries(disk: Disk) -> None:
    disk.graph.register_queries(QUERY)


def _remove_query(disk: Disk) -> None:
    disk.graph.remove_query("everybody")


def _optimize(disk: Disk) -> None:
    disk.graph.optimize()


def _backup(disk: Disk) -> None:
    omnigraph.backup(disk.place("graph"), disk.place("backup"))


def _newer_backup(disk: Disk) -> None:
    with disk.graph.transaction() as txn:
        txn.upsert("Person", people([1], age=80))
    omnigraph.backup(disk.place("graph"), disk.place("backup"))


def _restore(disk: Disk) -> None:
    omnigraph.restore(disk.place("backup"), disk.place("restored"))


def _repair(disk: Disk) -> None:
    """A file that is there, damaged, and made so on purpose: it is synced, too."""
    damaged = max(Path(disk.place("restored"), "nodes").rglob("*.lance"))
    damaged.write_bytes(b"damaged")
    report = omnigraph.repair(disk.place("restored"), disk.place("backup"))
    assert report.repaired and report.ok


def _collect(disk: Disk) -> None:
    disk.graph.collect(keep=1)


def _drop_tag(disk: Disk) -> None:
    disk.graph.tags.delete("v1")


def _drop_type_and_collect(disk: Disk) -> None:
    """A hard drop collects at once."""
    disk.graph.apply_schema(SCHEMA, allow_data_loss=True)


def _make_old(disk: Disk) -> None:
    """A graph as format 2 had it."""
    place = disk.place("old")
    with omnigraph.init(place, OLD).transaction() as txn:
        txn.insert("Boat", [{"name": "Ada"}])
    uri = f"{place}/__manifest"
    kinds = ("table", "table_version")
    dataset = lance.dataset(uri)
    rows = [row for row in dataset.to_table().to_pylist() if row["object_type"] in kinds]
    schema = dataset.schema.with_metadata({STAMP: "2"})
    lance.write_dataset(pa.Table.from_pylist(rows, schema=schema), uri, mode="overwrite")
    Path(place, "_schema.pg").write_text(OLD)
    FileSync(place).sync(files_below(Path(place)))


def _upgrade(disk: Disk) -> None:
    with omnigraph.open(disk.place("old")).transaction() as txn:
        txn.insert("Boat", [{"name": "Bly"}])


def people(numbers: Iterable[int], age: int = 1) -> list[dict[str, object]]:
    """Rows; the first have photos."""
    return [
        {"name": f"p{i}", "age": age, "photo": bytes(100) if i < 10 else None, "about": f"no. {i}"}
        for i in numbers
    ]


STEPS: tuple[Callable[[Disk], None], ...] = (
    _init,
    _insert,
    *[_replace] * REPLACED,
    _delete_with_edges,
    _delete_many,
    _overwrite,
    _load,
    _index_by_a_small_write,
    _spill,
    _bulk_job,
    _abandoned_job,
    _mutate,
    _create_branch,
    _protect,
    _unprotect,
    _diverge,
    _diverge_back,
    _tag,
    _merge,
    _fast_forward,
    _delete_branch,
    _apply_schema,
    _create_table,
    _change_table,
    _drop_table,
    _register_queries,
    _remove_query,
    _optimize,
    _backup,
    _newer_backup,
    _restore,
    _repair,
    _collect,
    _drop_tag,
    _drop_type_and_collect,
    _make_old,
    _upgrade,
)
PLACES = ("graph", "backup", "restored", "old")


def shown_at(disk: Disk, step: Callable[[Disk], None]) -> dict[str, State]:
    """What each graph shows after a step; one of an old format shows nothing."""
    unreadable = {"old"} if step is _make_old else set()
    return {
        name: state_of(omnigraph.open(disk.place(name)))
        for name in PLACES
        if name not in unreadable and Path(disk.place(name)).exists()
    }


def main(folder: str, notes: str, *chosen: str) -> None:
    """Each line noted is a step that is done, and what can be read from now on."""
    manifest.KEPT_VERSIONS = KEPT
    disk = Disk(Path(folder))
    noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for step in STEPS:
        name = step.__name__.strip("_")
        if chosen and name not in chosen:
            continue
        step(disk)
        line = json.dumps({"step": name, "shown": shown_at(disk, step)})
        os.write(noted, f"{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
