"""Serve a graph in this process and read it with Spark: partitions of one snapshot, over ADBC."""

from __future__ import annotations

import os
import sys
import warnings

from pyspark.sql import SparkSession

from omnigraph_flight.config import Config
from omnigraph_flight.server import Server

JOBS = "SELECT c.name AS company, j.title FROM WorksAt j JOIN Company c ON c.id = j.dst"


def local_spark() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
    )
    with warnings.catch_warnings():
        # Lance warns of any fork; this one runs another program at once.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main(graph: str) -> None:
    spark = local_spark()
    with Server(Config(graphs={"people": graph}, port=0)) as server:
        print(f"serving {graph} at {server.uri}")
        jobs = spark.read.format("omnigraph").options(uri=server.uri, query=JOBS).load()
        jobs.groupBy("company").count().orderBy("company").show()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
