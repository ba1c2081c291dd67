"""Rows of an output held against its expectations: which go in, which are put aside, how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from omnigraph_spark.pipeline.pipeline_model import Expectation, Output

REASON = "_expectation"


@dataclass(frozen=True)
class ExpectationResult:
    """An output's rows after the judgement; counts are known once `kept` was written."""

    output: Output
    kept: DataFrame
    aside: DataFrame | None
    """Rows for the quarantine, each with the title of the expectation that it broke."""
    observation: Observation | None

    def broken(self) -> Mapping[Expectation, int]:
        """How many rows broke each expectation."""
        if self.observation is None:
            return {}
        counts = self.observation.get
        found = {e: int(counts[f"e{n}"]) for n, e in enumerate(self.output.expectations)}
        return {expectation: count for expectation, count in found.items() if count}


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
    kept = observed.where(F.col(REASON).isNull()).drop(REASON)
    put_aside = [n for n, e in enumerate(output.expectations) if e.otherwise == "quarantine"]
    aside = None
    if put_aside:
        titles = F.array(*(F.lit(e.title) for e in output.expectations))
        aside = marked.where(F.col(REASON).isin(put_aside)).withColumn(
            REASON, F.element_at(titles, F.col(REASON) + 1)
        )
    return ExpectationResult(output, kept, aside, observation)


def _breaks(expectation: Expectation) -> Column:
    """A condition that is null is not met."""
    return ~F.coalesce(F.expr(expectation.check), F.lit(False))
