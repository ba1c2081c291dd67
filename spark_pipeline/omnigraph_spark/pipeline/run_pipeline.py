"""Runs a pipeline: everything on a branch of its own, then one publish or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from omnigraph.errors import OmniGraphError
from omnigraph_spark.graph_location import location_of
from omnigraph_spark.pipeline.expectations import ExpectationResult, apply_expectations
from omnigraph_spark.pipeline.pipeline_model import Check, Pipeline, Source
from omnigraph_spark.pipeline.work_branch import work_branches_of
from omnigraph_spark.spark_types import for_spark, spark_schema
from omnigraph_spark.writing.graph_write import graph_write
from omnigraph_spark.writing.write_job import cleaning

ProgressMessage = Callable[[str], None]


class PipelineFailed(OmniGraphError):
    """A row breaks an expectation, or a check did not pass; nothing was published."""

    code = "pipeline_failed"


@dataclass(frozen=True)
class PipelineReport:
    """What a run did. Counts are rows, by table key."""

    name: str
    branch: str
    commit: str | None
    rows: Mapping[str, int]
    dropped: Mapping[str, Mapping[str, int]]
    """By table key and the title of the expectation."""
    quarantined: Mapping[str, Mapping[str, int]]
    checks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "branch": self.branch,
            "graph_commit_id": self.commit,
            "rows": dict(self.rows),
            "dropped": {key: dict(counts) for key, counts in self.dropped.items()},
            "quarantined": {key: dict(counts) for key, counts in self.quarantined.items()},
            "checks": list(self.checks),
        }


def run(
    spark: SparkSession, pipeline: Pipeline, on_progress: ProgressMessage = lambda _: None
) -> PipelineReport:
    """Run a pipeline; publishes nothing if it raises `PipelineFailed`, or an error of the graph."""
    session = spark.newSession()
    branches = work_branches_of(location_of({"uri": pipeline.graph, **pipeline.options}))
    results = _transformed(session, pipeline, on_progress)
    working = f"pipeline/{pipeline.name}-{uuid.uuid4().hex[:8]}"
    message = pipeline.message or f"pipeline {pipeline.name}"
    branches.create(working, pipeline.branch)
    try:
        rows = _write(session, pipeline, results, working, message, on_progress)
        _require_expectations(results)
        for check in pipeline.checks:
            on_progress(f"checking {check.name}")
            _require_check(session, check, branches.answer(working, check))
        on_progress(f"publishing to {pipeline.branch}")
        commit = branches.publish(working, pipeline.branch, message, pipeline.actor)
    except BaseException:
        with cleaning(f"branch {working}"):
            branches.drop(working)
        raise
    return PipelineReport(
        pipeline.name,
        pipeline.branch,
        commit,
        rows,
        _counts(results, "drop"),
        _counts(results, "quarantine"),
        tuple(check.name for check in pipeline.checks),
    )


# --------------------------------------------------------------------------- rows


def _transformed(
    spark: SparkSession, pipeline: Pipeline, on_progress: ProgressMessage
) -> list[ExpectationResult]:
    frames: dict[str, DataFrame] = {}
    for name, source in pipeline.sources.items():
        on_progress(f"reading {name}")
        frames[name] = _read(spark, source)
        frames[name].createOrReplaceTempView(name)
    for name, transform in pipeline.transforms.items():
        frames[name] = (
            spark.sql(transform.sql)
            if transform.sql is not None
            else transform.function(spark, frames)  # type: ignore[misc]
        )
        frames[name].createOrReplaceTempView(name)
    return [apply_expectations(output, frames[output.rows]) for output in pipeline.outputs]


def _read(spark: SparkSession, source: Source) -> DataFrame:
    if source.function is not None:
        return source.function(spark)
    reader = spark.read.format(source.format).options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.load(source.path)


def _write(
    spark: SparkSession,
    pipeline: Pipeline,
    results: list[ExpectationResult],
    branch: str,
    message: str,
    on_progress: ProgressMessage,
) -> dict[str, int]:
    writing = graph_write(
        spark,
        pipeline.graph,
        branch,
        message=message,
        actor=pipeline.actor,
        options=pipeline.options,
        on_progress=on_progress,
    )
    with writing as write:
        for each in results:
            write.rows_of(each.output.table_key, each.accepted, each.output.mode)
            if each.quarantined is not None:
                write.table(each.output.quarantine, each.quarantined)
    return writing.rows


def _require_expectations(results: list[ExpectationResult]) -> None:
    for each in results:
        for expectation, count in each.broken().items():
            if expectation.otherwise == "fail":
                raise PipelineFailed(
                    f"{count} rows of {each.output.table_key} break the expectation "
                    f"{expectation.title!r}",
                    hint="Correct the rows, or let the expectation drop or quarantine them.",
                    details={"table": each.output.table_key, "rows": count},
                )


def _counts(results: list[ExpectationResult], otherwise: str) -> dict[str, dict[str, int]]:
    by_table = {
        each.output.table_key: {
            expectation.title: count
            for expectation, count in each.broken().items()
            if expectation.otherwise == otherwise
        }
        for each in results
    }
    return {key: counts for key, counts in by_table.items() if counts}


# --------------------------------------------------------------------------- checks


def _require_check(spark: SparkSession, check: Check, answer: pa.Table) -> None:
    schema = spark_schema(answer.schema)
    rows = [
        tuple(row.values())
        for batch in for_spark(answer.to_batches(), schema)
        for row in batch.to_pylist()
    ]
    frame = spark.createDataFrame(rows, schema)
    failing = frame.where(~F.coalesce(F.expr(check.expect), F.lit(False))).limit(1).collect()
    if rows and not failing:
        return
    shown = failing[0].asDict() if failing else "no rows"
    raise PipelineFailed(
        f"the check {check.name!r} does not pass: {check.expect} with {shown}",
        hint="The branch was not published; check the rows that were written to it.",
        details={"check": check.name},
    )
