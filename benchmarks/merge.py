"""Milliseconds of merging two branches: `python -m benchmarks.merge [--rows 1000000]`.

Both branches changed rows of one large table, each its own. OmniGraph merges and publishes a
commit, checking every rule. Beside it, on the same rows: DuckDB deciding the same three-way merge
with full outer joins over the three versions, without writing anything; and writing the table
anew, as a merge without shared files must: bare, with Lance, and as a checked commit of OmniGraph.
Rounds are interleaved, medians are shown, of time and of what all processor cores spent.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import lance
import numpy as np
import pyarrow as pa

import benchmarks  # noqa: F401
import omnigraph
from benchmarks.peers import GRAPH_SCHEMA, people
from benchmarks.table import Cell, ratio, show

JOIN = """
SELECT count(*) FROM (
  SELECT coalesce(b.name, s.name, t.name) AS name,
    CASE WHEN s IS NOT DISTINCT FROM b THEN t
         WHEN t IS NOT DISTINCT FROM b OR s IS NOT DISTINCT FROM t THEN s END AS merged
  FROM base b FULL OUTER JOIN source s ON b.name = s.name
              FULL OUTER JOIN target t ON coalesce(b.name, s.name) = t.name)
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changed", type=int, nargs="+", default=[1, 1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--text", type=int, default=0, help="bytes of text that each row has")
    options = parser.parse_args(arguments)
    for changed in options.changed:
        with tempfile.TemporaryDirectory(prefix="bench-merge-") as folder:
            _compare(Path(folder), options.rows, changed, options.rounds, options.text)


def _compare(folder: Path, rows: int, changed: int, rounds: int, text: int) -> None:
    base = people(rows).append_column("note", _texts(rows, text))
    source, target = _edited(base, 0, changed, 1000), _edited(base, 1, changed, 2000)
    graph = _graph(folder / "graph", base, changed)
    connection = duckdb.connect()
    for name, version in (("base", base), ("source", source), ("target", target)):
        connection.register(f"{name}_rows", version)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
    made = iter(range(10 * rounds))

    def merge(source_branch: str) -> None:
        branch = f"try-{next(made)}"
        graph.create_branch(branch, "main")
        timed(lambda: graph.merge(source_branch, branch))()

    def timed(action: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            began = time.perf_counter(), time.process_time()
            action()
            took.append((time.perf_counter() - began[0], time.process_time() - began[1]))

        return run

    def rewrite() -> None:
        shutil.rmtree(folder / "rewritten", ignore_errors=True)
        lance.write_dataset(target, folder / "rewritten")

    def overwrite() -> None:
        branch = f"try-{next(made)}"
        graph.create_branch(branch, "main")
        timed(lambda: graph.load(target, type="Person", mode="overwrite", branch=branch))()

    systems: dict[str, Callable[[], None]] = {
        "OmniGraph, merged": lambda: merge("wip"),
        "OmniGraph, fast-forward": lambda: merge("ahead"),
        "DuckDB, full outer joins in memory": timed(lambda: connection.execute(JOIN).fetchall()),
        "the table written anew (Lance)": timed(rewrite),
        "the table written anew (OmniGraph)": overwrite,
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, action in systems.items():
            took: list[tuple[float, float]] = []
            action()
            seconds[name] += took
    medians = {
        name: tuple(statistics.median(each) for each in zip(*rounds_, strict=True))
        for name, rounds_ in seconds.items()
    }
    ours = medians["OmniGraph, merged"]
    table: list[list[Cell]] = [
        [name, took_ * 1000, ratio(took_, ours[0]), spent * 1000, ratio(spent, ours[1])]
        for name, (took_, spent) in medians.items()
    ]
    title = f"{changed:,} rows changed on each branch of {rows:,}, median of {rounds}"
    show(title, ["what", "ms", "time ratio", "processor ms", "ratio"], table)


def _texts(rows: int, size: int) -> pa.Array:
    letters = np.random.default_rng(0).integers(97, 123, rows * size, np.uint8)
    places = np.arange(rows + 1, dtype=np.int32) * size
    return pa.StringArray.from_buffers(rows, pa.py_buffer(places), pa.py_buffer(letters))


def _edited(base: pa.Table, first: int, changed: int, age: int) -> pa.Table:
    """The table with some ages changed, evenly spread."""
    ages = base.column("age").to_pylist()
    for place in _places(base.num_rows, first, changed):
        ages[place] = age
    return base.set_column(1, "age", pa.array(ages, pa.int64()))


def _places(rows: int, first: int, changed: int) -> range:
    step = max(rows // changed, 2)
    return range(first, rows, step)[:changed]


def _graph(root: Path, base: pa.Table, changed: int) -> omnigraph.Graph:
    graph = omnigraph.init(root, GRAPH_SCHEMA.replace("city:", "note: String?\n  city:"))
    graph.load(base, type="Person", mode="append")
    graph.create_branch("wip")
    for branch, first, age in (("wip", 0, 1000), ("main", 1, 2000)):
        places = pa.array(_places(base.num_rows, first, changed))
        rows = base.take(places)
        with graph.transaction(branch) as txn:
            txn.upsert("Person", rows.set_column(1, "age", pa.array([age] * len(places))))
    graph.create_branch("ahead", "main")
    with graph.transaction("ahead") as txn:
        txn.upsert("Person", base.slice(0, 1))
    return graph


if __name__ == "__main__":
    main()
