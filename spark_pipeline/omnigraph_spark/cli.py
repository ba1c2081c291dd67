"""`omnigraph pipeline`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from omnigraph.cli import output
from omnigraph.cli.command import Invocation, command, group, pass_invocation
from omnigraph.errors import InvalidInput

if TYPE_CHECKING:
    from omnigraph_spark.pipeline import PipelineReport


@group("pipeline", example="omnigraph pipeline run people.yaml")
def pipeline() -> None:
    """Bring raw data into a graph with Spark, in one publish."""


@command(
    "run",
    example="""
    omnigraph pipeline run people.yaml
    omnigraph pipeline run people.yaml --store s3://bucket/social --master local[4]
    """,
)
@click.argument("file")
@click.option("--master", metavar="URL", help="Where Spark runs.  [default: local[*]]")
@click.option(
    "--conf", "settings", metavar="NAME=VALUE", multiple=True, help="A Spark setting; repeatable."
)
@pass_invocation
def run(
    invocation: Invocation, /, file: str, master: str | None, settings: tuple[str, ...]
) -> None:
    """Run the pipeline of a YAML or Python file; the graph gets all of its rows or none.

    --store goes before the graph that the file names. Under spark-submit, use
    `python -m omnigraph_spark.submit FILE` instead.
    """
    from omnigraph_spark.pipeline import run as run_pipeline
    from omnigraph_spark.pipeline.pipeline_files import read_pipeline
    from omnigraph_spark.submit import session

    definition = read_pipeline(file, invocation.store)
    if master is None or master.startswith("local"):
        # Workers on this machine import what this process can import, venv activated or not.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(definition.name, master, dict(_setting(text) for text in settings))
    try:
        report = run_pipeline(spark, definition, _report_progress(invocation))
    finally:
        spark.stop()
    if invocation.json:
        output.write_json(report.to_json())
        return
    for line in report_lines(report):
        output.write_line(line)


pipeline.add_command(run)


def report_lines(report: PipelineReport) -> list[str]:
    """What a run did, as lines of text."""
    lines = [f"{key}: {count} rows" for key, count in report.rows.items()]
    for verb, by_table in (("dropped", report.dropped), ("quarantined", report.quarantined)):
        for key, counts in by_table.items():
            lines += [f"{key}: {count} {verb} ({title})" for title, count in counts.items()]
    lines += [f"check passed: {name}" for name in report.checks]
    lines.append(f"{report.branch} is at {report.commit}" if report.commit else "nothing changed")
    return lines


def _report_progress(invocation: Invocation) -> Callable[[str], None]:
    return (lambda _: None) if invocation.json else partial(click.echo, err=True)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"{text!r} is not a setting", hint="Write --conf NAME=VALUE.")
    return name, value
