"""A statement that fails, is cancelled or dies half-way leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import OmniGraphError
from sql.writing.session import Session

SCRIPT = """
    import sys, omnigraph, omnigraph_sql
    session = omnigraph_sql.connect(omnigraph.open(sys.argv[1]))
    print("ready", flush=True)
    session.execute(sys.argv[2])
"""

BIG = "SELECT a.n AS x, b.n AS y FROM thousands a, thousands b"


def thousands(session: Session, count: int = 3000) -> None:
    """A table of numbers; its product with itself is a query that takes its time."""
    session.connection.ingest("thousands", pa.table({"n": range(count)}).to_reader())


@contextmanager
def process(root: str, sql: str, failpoint: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs a statement."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    if failpoint:
        environment["OMNIGRAPH_FAILPOINTS"] = failpoint
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), root, sql],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize("point", ["stage.after_table=kill", "publish.before=kill"])
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE n AS SELECT * FROM t",
        "CREATE OR REPLACE TABLE t AS SELECT 5 AS a",
        "UPDATE t SET a = a + 1",
        "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 9",
        "ALTER TABLE t ADD COLUMN b INT DEFAULT 1",
        "CREATE NODE TABLE Port AS SELECT 'x' AS name",
        "INSERT INTO t VALUES (3); INSERT INTO t VALUES (4)",
    ],
)
def test_killed_half_way(tmp_path: Path, sql: str, point: str) -> None:
    root = str(tmp_path / "graph")
    session = Session(root)
    session.run("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
    before = session.graph.snapshot().commit
    with process(root, sql, point) as killed:
        assert killed.wait(120) == -signal.SIGKILL
    assert session.graph.snapshot().commit == before
    assert session.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    assert [t.name for t in session.graph.tables()] == ["public.t"]
    session.run("INSERT INTO t VALUES (3)")
    session.graph.collect()
    assert session.graph.verify(rules=True).ok


def test_killed_while_it_streams(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    session = Session(root)
    thousands(session, 6000)
    with process(root, f"CREATE TABLE big AS {BIG}") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        time.sleep(0.7)
    assert [t.name for t in session.graph.tables()] == ["public.thousands"]
    session.graph.collect(keep=1)
    assert session.graph.verify(rules=True).ok


def test_cancelled_while_it_streams(session: Session) -> None:
    thousands(session)
    before = session.commits()
    stop = threading.Timer(0.5, session.connection.cancel)
    stop.start()
    with pytest.raises(OmniGraphError) as cancelled:
        session.run("CREATE TABLE big AS SELECT x AS n FROM generate_series(1, 9000000000) AS t(x)")
    stop.join()
    assert cancelled.value.code == "cancelled"
    assert session.commits() == before
    session.run("CREATE TABLE big AS SELECT 1 AS n")
    assert session.rows("SELECT n FROM big") == [(1,)]


def test_many_sessions_write_at_once(session: Session) -> None:
    session.run("CREATE TABLE shared (n INT)")
    session.run("CREATE TABLE counter AS SELECT 0 AS n")

    def work(number: int) -> None:
        own = omnigraph_sql.connect(session.graph, user=f"w{number}")
        own.execute(f"CREATE TABLE t{number} AS SELECT {number} AS n")
        own.execute(f"INSERT INTO shared SELECT n FROM t{number}")
        own.execute("UPDATE counter SET n = n + 1")
        own.execute(f"CREATE OR REPLACE VIEW v{number} AS SELECT n FROM t{number}")
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    assert session.rows("SELECT count(*), sum(n) FROM shared") == [(12, sum(range(12)))]
    assert session.rows("SELECT n FROM counter") == [(12,)]
    assert len(session.graph.tables()) == 14
    assert len(session.graph.snapshot().definitions("view")) == 12
    assert session.graph.verify(rules=True).ok


def test_memory_of_a_large_table_from_a_query_is_bounded(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    thousands(Session(root))
    script = """
        import resource, sys, omnigraph, omnigraph_sql
        session = omnigraph_sql.connect(omnigraph.open(sys.argv[1]))
        session.execute("CREATE TABLE warm AS SELECT 1 AS x")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        made = session.execute(sys.argv[2])
        print(made, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    """
    query = f"CREATE TABLE big AS {BIG}, (VALUES (1), (2), (3)) AS c(n)"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), root, query],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    made, grown = map(int, done.stdout.split())
    assert made == 3000 * 3000 * 3
    assert omnigraph.open(root).tables()[0].rows == made
    assert grown < 600, f"{grown} MiB for {made * 16 >> 20} MiB of rows"
