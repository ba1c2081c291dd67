"""Validation as joins in Spark: the engine asks, executors read, one answer comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from omnigraph.bulk import Addresses, TableSlice, Texts, read_keys
from omnigraph_spark.graph_location import GraphLocation

ROWS_PER_TASK = 1 << 20
COLUMNS = "text string, at long"


@dataclass(frozen=True)
class ReadKeys:
    """What the tasks of a frame do: the one with number n reads the slice with that number."""

    texts: Texts
    slices: tuple[TableSlice, ...]
    storage: tuple[tuple[str, str], ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read_keys(self.slices[number], self.texts, dict(self.storage))


class SparkConstraintChecker:
    """Answers the questions of a bulk write (see `distributed_protocol`)."""

    def __init__(self, spark: SparkSession, place: GraphLocation) -> None:
        self._spark = spark
        self._place = place

    def first_repeated(self, texts: Texts) -> str | None:
        return _answer(_repeated(self._frame(texts)), F.min_by("text", "first"))

    def least_repeated(self, texts: Texts) -> str | None:
        return _answer(_repeated(self._frame(texts)), F.min("text"))

    def earlier(self, texts: Texts) -> Addresses:
        frame = self._frame(texts)
        last = _repeated(frame).select("text", "last")
        return _addresses(frame.join(last.hint("merge"), "text").where("at < last"))

    def least_common(self, texts: Texts, others: Texts) -> str | None:
        return _answer(self._having(texts, others), F.min("text"))

    def common(self, texts: Texts, others: Texts) -> Addresses:
        return _addresses(self._having(texts, others))

    def least_missing(self, texts: Texts, others: Texts) -> str | None:
        named, held = self._frame(texts), self._frame(others)
        return _answer(named.join(held, "text", "left_anti"), F.min("text"))

    def least_above(self, texts: Texts, among: Texts, bound: int) -> str | None:
        counts = _counts(self._having(texts, among), "n")
        return _answer(counts.where(F.col("n") > bound), F.min("text"))

    def least_below(
        self, texts: Texts, before: Texts, among: Texts, within: Texts, bound: int
    ) -> str | None:
        left = _counts(self._frame(texts), "n").hint("merge")
        had = _counts(self._frame(before), "had").join(left, "text", "left")
        fewer = had.where("had > coalesce(n, 0)").select("text")
        touched = self._frame(among).select("text").union(fewer).distinct().hint("merge")
        counted = touched.join(left, "text", "left").where(F.expr(f"coalesce(n, 0) < {bound}"))
        return _answer(counted.join(self._frame(within), "text", "left_semi"), F.min("text"))

    def _having(self, texts: Texts, others: Texts) -> DataFrame:
        return self._frame(texts).join(self._frame(others), "text", "left_semi")

    def _frame(self, texts: Texts) -> DataFrame:
        slices = tuple(self._place.graph().text_slices(texts, ROWS_PER_TASK))
        read = ReadKeys(texts, slices, self._place.storage)
        numbers = self._spark.range(0, len(slices), 1, max(len(slices), 1))
        # Spark takes what a function gives for as small as what it got, and would send all of it to
        # every executor.
        return numbers.mapInArrow(read, COLUMNS).where("text IS NOT NULL").hint("merge")


def _repeated(frame: DataFrame) -> DataFrame:
    counted = frame.groupBy("text").agg(
        F.count("*").alias("n"), F.min("at").alias("first"), F.max("at").alias("last")
    )
    return counted.where("n > 1")


def _counts(frame: DataFrame, name: str) -> DataFrame:
    return frame.groupBy("text").agg(F.count("*").alias(name))


def _answer(frame: DataFrame, found: Any) -> str | None:  # noqa: ANN401
    (row,) = frame.agg(found).collect()
    answer: str | None = row[0]
    return answer


def _addresses(frame: DataFrame) -> Addresses:
    found: Addresses = frame.select("at").toArrow().column("at").to_numpy().astype(np.uint64)
    return found
