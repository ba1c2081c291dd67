"""Spark sessions for tests: small, quiet, and with the packages of this repository on executors."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("engine", "sql_bridge", "flight_server", "spark_pipeline")


def local_session(master: str, **settings: str) -> SparkSession:
    """A session on `local[n]` or `local-cluster[…]`."""
    paths = [str(REPOSITORY / name) for name in PACKAGES]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    chosen = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.driver.extraJavaOptions": "-Dlog4j2.level=ERROR -XX:TieredStopAtLevel=1",
        **settings,
    }
    builder = SparkSession.builder.master(master).appName("omnigraph tests")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # Lance warns of any fork; the JVM is started by one that runs another program at once.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
