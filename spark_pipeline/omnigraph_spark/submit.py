"""Runs a pipeline file under spark-submit: `spark-submit omnigraph_spark/submit.py FILE [URI]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from omnigraph.errors import OmniGraphError


def session(name: str, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """A session for a pipeline: the active one, or a new one."""
    builder = SparkSession.builder.appName(f"omnigraph {name}")
    if master is not None:
        builder = builder.master(master)
    configuration = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # a pipeline reports its own
        "spark.sql.session.timeZone": "UTC",
        **settings,
    }
    for key, value in configuration.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(arguments: list[str]) -> int:
    """Run a file; 0 if its rows were published."""
    from omnigraph_spark.pipeline import run
    from omnigraph_spark.pipeline.pipeline_files import read_pipeline

    try:
        pipeline = read_pipeline(*arguments[:2])
        report = run(session(pipeline.name, None, {}), pipeline)
    except OmniGraphError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(json.dumps(report.to_json()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
