"""TPC-H's questions beside DataFusion on Parquet and duckdb; row counts are compared first.

All three hold the same rows on the same disk and use every core. Times are the best of a few runs,
taken in turns, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
from datafusion import SessionConfig, SessionContext

import omnigraph
import omnigraph_sql
from benchmarks.table import show
from omnigraph_sql.datafusion.dialect import to_datafusion_sql
from omnigraph_sql.frontend.parser import parse_one
from omnigraph_sql.session.statement import Statement
from support.tpch import QUERIES, tables

Run = Callable[[str], int]


def main() -> None:
    """Load, check, measure, print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=0.1)
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = tables(given.scale)
        systems = {
            "omnigraph": _omnigraph(data, Path(folder)),
            "datafusion": _datafusion(data, Path(folder)),
            "duckdb": _duckdb(data, Path(folder)),
        }
        lines = [(f"q{number}", sql) for number, sql in QUERIES.items()]
        lines += [
            ("scan", "select * from lineitem"),
            ("filter", "select l_orderkey, l_shipdate from lineitem where l_quantity < 10"),
            ("point", "select * from orders where o_orderkey = 400"),
        ]
        _print_times(lines, systems, given.runs, given.scale)
        _print_overhead(data, Path(folder))


def _print_times(
    lines: list[tuple[str, str]], systems: dict[str, Run], runs: int, scale: float
) -> None:
    shown: list[list[str | int | float | None]] = []
    ratios = []
    for name, sql in lines:
        counts = {system: run(sql) for system, run in systems.items()}
        assert len(set(counts.values())) == 1, (name, counts)
        best = dict.fromkeys(systems, float("inf"))
        for _ in range(runs):
            for system, run in systems.items():
                started = time.perf_counter()
                run(sql)
                best[system] = min(best[system], (time.perf_counter() - started) * 1000)
        ratio = best["omnigraph"] / best["datafusion"]
        ratios.append(ratio)
        shown.append([name, *best.values(), f"{ratio:.2f}x"])
    middle = statistics.geometric_mean(ratios)
    shown.append(["mean of ratios", None, None, None, f"{middle:.2f}x"])
    show(
        f"TPC-H's questions at scale {scale}, milliseconds, {os.cpu_count()} cores",
        ["line", *systems, "omnigraph / datafusion"],
        shown,
    )


def _print_overhead(data: dict[str, pa.Table], folder: Path) -> None:
    """What the facade adds to a statement that the engine runs in no time."""
    connection = _connected(data, folder)
    sql = "select upper(r_name) as name from region where r_regionkey = 1"
    reader = connection.execute(sql)
    assert isinstance(reader, pa.RecordBatchReader)
    reader.read_all()
    statement = connection.prepare(sql)
    assert isinstance(statement, Statement)
    planned = statement._plan().plan

    def through_the_facade() -> object:
        found = connection.execute(sql)
        assert isinstance(found, pa.RecordBatchReader)
        return found.read_all()

    def directly() -> object:
        return [batch.to_pyarrow() for batch in planned.stream()]

    times: dict[str, list[float]] = {"through": [], "direct": []}
    for _ in range(400):
        for name, call in (("through", through_the_facade), ("direct", directly)):
            started = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - started) * 1000)
    through, direct = (statistics.median(times[name]) for name in ("through", "direct"))
    show(
        "A cached statement, milliseconds, median of 400",
        ["through the facade", "DataFusion's plan alone", "overhead"],
        [[through, direct, through - direct]],
    )


# --------------------------------------------------------------------------- systems


def _connected(data: dict[str, pa.Table], folder: Path) -> omnigraph_sql.Connection:
    root = folder / "graph.omni"
    if root.exists():
        return omnigraph_sql.connect(omnigraph.open(str(root)))
    graph = omnigraph.init(str(root), "node Unused { k: String? }")
    connection = omnigraph_sql.connect(graph)
    for name, rows in data.items():
        connection.ingest(name, rows.to_reader(), "create")
    return connection


def _omnigraph(data: dict[str, pa.Table], folder: Path) -> Run:
    connection = _connected(data, folder)

    def run(sql: str) -> int:
        reader = connection.execute(sql)
        assert isinstance(reader, pa.RecordBatchReader)
        return sum(batch.num_rows for batch in reader)

    return run


def _datafusion(data: dict[str, pa.Table], folder: Path) -> Run:
    """Plain DataFusion over Parquet files, with its own defaults but for exact decimals."""
    settings = {"datafusion.sql_parser.parse_float_as_decimal": "true"}
    context = SessionContext(SessionConfig(settings))
    for name, rows in data.items():
        path = folder / f"{name}.parquet"
        pa.parquet.write_table(rows, path, row_group_size=1 << 17)
        context.register_parquet(name, str(path))
    # Column lists of derived tables and extract() are spelled alike by all three.
    texts = {sql: to_datafusion_sql(parse_one(sql, "postgres").tree) for sql in QUERIES.values()}

    def run(sql: str) -> int:
        stream: Any = context.sql(texts.get(sql, sql)).execute_stream()
        return sum(batch.to_pyarrow().num_rows for batch in stream)

    return run


def _duckdb(data: dict[str, pa.Table], folder: Path) -> Run:
    database = duckdb.connect(str(folder / "peer.duckdb"))
    for name, rows in data.items():
        database.register("given", rows)
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        database.unregister("given")

    def run(sql: str) -> int:
        return sum(batch.num_rows for batch in database.sql(sql).to_arrow_reader(1 << 16))

    return run


if __name__ == "__main__":
    main()
