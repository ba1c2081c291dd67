"""Spark jobs that are started as programs of their own, so that they can be killed.

`python -m spark.jobs write|save|read|stall|stream|twice <graph> <marker> [master]`; the marker is a
file by which a task that kills its executor, or stalls, does so only once. A stream reads that
folder, and attempts of a task leave their number in it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import omnigraph_spark
from spark.sessions import local_session

ROWS = 4000
CLUSTER = "local-cluster[2,1,1024]"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def executor() -> int:
    """The JVM that this Python worker belongs to."""
    pid = os.getpid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = parent(pid)
    return pid


def disturbed(marker: str, trouble: Callable[[], None]) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Rows as they are; whoever comes to the middle of them first gets into trouble."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number == 3:
                try:
                    Path(marker).touch(exist_ok=False)
                except FileExistsError:
                    pass
                else:
                    trouble()
            yield batch

    return each


def kill_the_executor() -> None:
    os.kill(executor(), signal.SIGKILL)
    time.sleep(60)


def stall() -> None:
    time.sleep(600)


def people(spark: SparkSession, marker: str, trouble: Callable[[], None]) -> DataFrame:
    rows = spark.range(0, ROWS, 1, 4).selectExpr(
        "concat('p', id) AS name", "cast(id AS int) AS age"
    )
    return rows.mapInArrow(disturbed(marker, trouble), rows.schema)


def write(spark: SparkSession, graph: str, marker: str) -> dict[str, object]:
    """Two tables in one commit while an executor is killed in the middle of the first."""
    with omnigraph_spark.graph_write(spark, graph) as w:
        w.node("Person", people(spark, marker, kill_the_executor))
        w.edge("Knows", spark.createDataFrame([("p0", "p1")], "src string, dst string"))
    return {"rows": w.rows}


def save(spark: SparkSession, graph: str, marker: str) -> dict[str, object]:
    """The same with the data source's own writer."""
    rows = people(spark, marker, kill_the_executor)
    rows.write.format("omnigraph").options(uri=graph, node="Person").mode("append").save()
    return {}


def read(spark: SparkSession, graph: str, marker: str) -> dict[str, object]:
    """All rows while an executor is killed in the middle of reading them."""
    frame = spark.read.format("omnigraph").options(uri=graph, node="Person", partitions="4").load()
    seen = frame.mapInArrow(disturbed(marker, kill_the_executor), frame.schema)
    found = seen.selectExpr("count(*) AS n", "count(DISTINCT name) AS d", "sum(age) AS s").collect()
    return {"partitions": frame.rdd.getNumPartitions(), "found": list(found[0])}


def stalled(spark: SparkSession, graph: str, marker: str) -> dict[str, object]:
    """A write that hangs in the middle, until somebody kills it."""
    with omnigraph_spark.graph_write(spark, graph) as w:
        w.node("Person", people(spark, marker, stall))
    return {}


def stream(spark: SparkSession, graph: str, source: str) -> dict[str, object]:
    """The files of a folder, each a batch of its own, until all are in the graph."""
    rows = spark.readStream.schema("name string, age int").option("maxFilesPerTrigger", 1)
    writing = (
        rows.json(source)
        .writeStream.format("omnigraph")
        .options(uri=graph, node="Person", stream="people", checkpointLocation=f"{source}.done")
        .trigger(availableNow=True)
        .start()
    )
    writing.awaitTermination()
    return {}


def meeting(folder: Path) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Rows as they are; the first task ends when two attempts of it have given all of them."""

    def each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        context = TaskContext.get()
        if context is not None and context.partitionId() == 0:
            (folder / f"attempt-{context.attemptNumber()}").touch()
            over = time.monotonic() + 120
            while len(list(folder.glob("attempt-*"))) < 2 and time.monotonic() < over:
                time.sleep(0.05)

    return each


def twice(spark: SparkSession, graph: str, folder: str) -> dict[str, object]:
    """Two writes with speculation: two attempts of a task write the same rows at once."""

    def rows(prefix: str) -> DataFrame:
        (Path(folder) / prefix).mkdir(parents=True)
        numbers = spark.range(0, ROWS, 1, 4)
        people = numbers.selectExpr(f"concat('{prefix}', id) AS name", "cast(id AS int) AS age")
        return people.mapInArrow(meeting(Path(folder) / prefix), people.schema)

    with omnigraph_spark.graph_write(spark, graph) as w:
        w.node("Person", rows("written"))
    saved = rows("saved").write.format("omnigraph").options(uri=graph, node="Person")
    saved.mode("append").save()
    return {"rows": w.rows}


JOBS = {
    "write": write,
    "save": save,
    "read": read,
    "stall": stalled,
    "stream": stream,
    "twice": twice,
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.executor.memory": "512m",
}


def main(name: str, graph: str, marker: str, master: str = CLUSTER) -> None:
    spark = local_session(
        master,
        **{
            "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
            "spark.task.maxFailures": "4",
            "spark.excludeOnFailure.enabled": "false",
            **(SPECULATION if name == "twice" else {}),
        },
    )
    sys.stdout.write(json.dumps(JOBS[name](spark, graph, marker)) + "\n")
    sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
