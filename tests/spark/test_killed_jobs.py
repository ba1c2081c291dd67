"""Executors and drivers that are killed, and tasks that run twice: the job ends right, or nothing
of it is visible."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.bulk import Target, write_rows
from spark.clusters import two_hosts
from spark.jobs import ROWS
from support.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "graph", SCHEMA)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A job in a process group of its own, which is gone afterwards."""
    folder = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-m", "spark.jobs", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        start_new_session=True,
    ) as job:
        try:
            yield job
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)


def answer(*arguments: str) -> dict[str, Any]:
    with started(*arguments) as job:
        out, _ = job.communicate(timeout=500)
    assert job.returncode == 0
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found


@pytest.mark.parametrize("job", ["write", "save"])
def test_an_executor_killed_in_the_middle_of_a_write_doubles_and_loses_nothing(
    job: str, graph: Graph, uri: str, tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    answer(job, uri, str(marker))
    assert marker.exists()
    names = graph.snapshot().scan("Person", ["name"]).read_all().column("name")
    assert len(names) == len(names.unique()) == ROWS
    assert graph.snapshot().version == 2
    assert graph.verify(rules=True).ok
    assert graph.collect().spared_transactions == 0
    assert graph.snapshot().count("Person") == ROWS
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_two_attempts_of_a_task_write_its_rows_once(graph: Graph, uri: str, tmp_path: Path) -> None:
    attempts = tmp_path / "attempts"
    with two_hosts(tmp_path / "work") as cluster:
        assert answer("twice", uri, str(attempts), cluster) == {"rows": {"node:Person": ROWS}}
    for write in ("written", "saved"):
        ended = sorted(file.name for file in (attempts / write).iterdir())
        assert ended == ["attempt-0", "attempt-1"]
    names = graph.snapshot().scan("Person", ["name"]).read_all().column("name")
    assert len(names) == len(names.unique()) == 2 * ROWS
    assert graph.snapshot().version == 3
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.collect().spared_transactions == 0
    assert graph.snapshot().count("Person") == 2 * ROWS
    assert graph.verify(rules=True).ok


def filled(graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Person")])
    files = []
    for part in range(4):
        numbers = range(part * 1000, part * 1000 + 1000)
        rows = pa.table({"name": [f"p{n}" for n in numbers], "age": pa.array(numbers, pa.int32())})
        files.append(write_rows(job, "node:Person", rows.to_reader()))
    graph.finish_bulk(job, files)


def test_an_executor_killed_in_the_middle_of_a_read_doubles_and_loses_nothing(
    graph: Graph, uri: str, tmp_path: Path
) -> None:
    filled(graph)
    marker = tmp_path / "killed"
    found = answer("read", uri, str(marker))
    assert marker.exists()
    assert found == {"partitions": 4, "found": [ROWS, ROWS, sum(range(ROWS))]}


def test_a_driver_killed_in_the_middle_of_a_write_leaves_nothing_visible(
    graph: Graph, uri: str, tmp_path: Path
) -> None:
    marker = tmp_path / "stalled"
    before = graph.snapshot().commit
    with started("stall", uri, str(marker), "local[2]") as job:
        wait_until(marker.exists, seconds=300, what="the write is under way")
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    assert graph.snapshot().commit == before
    assert graph.snapshot().count("Person") == 0
    assert graph.verify(rules=True).ok
    graph.load(b'{"type":"Person","data":{"name":"ada"}}')
    assert graph.snapshot().count("Person") == 1


def test_a_stream_that_is_killed_again_and_again_commits_each_batch_once(
    graph: Graph, uri: str, tmp_path: Path
) -> None:
    source, batches, kills = tmp_path / "in", 6, 3
    source.mkdir()
    for number in range(batches):
        rows = (json.dumps({"name": f"p{number}_{n}", "age": n}) for n in range(10))
        (source / f"{number}.json").write_text("\n".join(rows))
    for _ in range(kills):
        before = graph.snapshot().version
        with started("stream", uri, str(source), "local[2]") as job:
            # At once after a commit: its checkpoint may not say yet that the batch is done.
            wait_until(
                lambda before=before: graph.snapshot().version > before,  # type: ignore[misc]
                seconds=300,
                what="a batch is committed",
            )
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    assert graph.snapshot().version < 1 + batches
    answer("stream", uri, str(source), "local[2]")
    names = graph.snapshot().scan("Person", ["name"]).read_all().column("name")
    assert len(names) == len(names.unique()) == batches * 10
    assert graph.snapshot().version == 1 + batches
    assert graph.last_batch("people") == batches - 1
    assert graph.verify(rules=True).ok
