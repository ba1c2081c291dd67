"""Checks rows against expectations: which are written, which are quarantined, how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from omnigraph_spark.pipeline.pipeline_model import Expectation, Output

REASON = "_expectation"


@dataclass(frozen=True)
class ExpectationResult:
    """An output's rows by expectations; counts are known once `accepted` was written."""

    output: Output
    accepted: DataFrame
    quarantined: DataFrame | None
    """Rows for the quarantine, each with the title of the expectation that it breaks."""
    observation: Observation | None

    def broken(self) -> Mapping[Expectation, int]:
        """How many rows break each expectation."""
        if self.observation is None:
            return {}
        counts = self.observation.get
        by_expectation = {e: int(counts[f"e{n}"]) for n, e in enumerate(self.output.expectations)}
        return {expectation: count for expectation, count in by_expectation.items() if count}


def apply_expectations(output: Output, rows: DataFrame) -> ExpectationResult:
    """Split rows by expectations; the first one that a row breaks decides."""
    if not output.expectations:
        return ExpectationResult(output, rows, None, None)
    first = F.lit(None).cast("int")
    for number, expectation in reversed(list(enumerate(output.expectations))):
        first = F.when(_breaks(expectation), F.lit(number)).otherwise(first)
    marked = rows.withColumn(REASON, first)
    observation = Observation()
    counts = [
        F.count_if(F.col(REASON) == number).alias(f"e{number}")
        for number in range(len(output.expectations))
    ]
    observed = marked.observe(observation, *counts)
    accepted = observed.where(F.col(REASON).isNull()).drop(REASON)
    quarantine = [n for n, e in enumerate(output.expectations) if e.otherwise == "quarantine"]
    quarantined = None
    if quarantine:
        titles = F.array(*(F.lit(e.title) for e in output.expectations))
        quarantined = marked.where(F.col(REASON).isin(quarantine)).withColumn(
            REASON, F.element_at(titles, F.col(REASON) + 1)
        )
    return ExpectationResult(output, accepted, quarantined, observation)


def _breaks(expectation: Expectation) -> Column:
    """A condition that is null is not met."""
    return ~F.coalesce(F.expr(expectation.check), F.lit(False))
