"""The distributed constraint check as joins in Spark, over key columns that executors read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from omnigraph.bulk import Addresses, KeyColumn, TableSlice, read_keys
from omnigraph_spark.graph_location import GraphLocation

ROWS_PER_TASK = 1 << 20
COLUMNS = "text string, at long"
"""A key, and the address of its row."""


@dataclass(frozen=True)
class ReadKeys:
    """What the tasks of a DataFrame do: task number n reads the slice with that number."""

    keys: KeyColumn
    slices: tuple[TableSlice, ...]
    storage: tuple[tuple[str, str], ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read_keys(self.slices[number], self.keys, dict(self.storage))


class SparkConstraintChecker:
    """The `ConstraintChecker` of a bulk write, which says what each method finds."""

    def __init__(self, spark: SparkSession, location: GraphLocation) -> None:
        self._spark = spark
        self._location = location

    def first_repeated(self, keys: KeyColumn) -> str | None:
        return _answer(_repeated(self._frame(keys)), F.min_by("text", "first"))

    def least_repeated(self, keys: KeyColumn) -> str | None:
        return _answer(_repeated(self._frame(keys)), F.min("text"))

    def earlier(self, keys: KeyColumn) -> Addresses:
        frame = self._frame(keys)
        last = _repeated(frame).select("text", "last")
        return _addresses(frame.join(last.hint("merge"), "text").where("at < last"))

    def least_common(self, keys: KeyColumn, others: KeyColumn) -> str | None:
        return _answer(self._in_common(keys, others), F.min("text"))

    def common(self, keys: KeyColumn, others: KeyColumn) -> Addresses:
        return _addresses(self._in_common(keys, others))

    def least_missing(self, keys: KeyColumn, others: KeyColumn) -> str | None:
        present = self._frame(others)
        return _answer(self._frame(keys).join(present, "text", "left_anti"), F.min("text"))

    def least_above(self, keys: KeyColumn, among: KeyColumn, bound: int) -> str | None:
        counts = _counts(self._in_common(keys, among), "n")
        return _answer(counts.where(F.col("n") > bound), F.min("text"))

    def least_below(
        self, keys: KeyColumn, before: KeyColumn, among: KeyColumn, within: KeyColumn, bound: int
    ) -> str | None:
        left = _counts(self._frame(keys), "n").hint("merge")
        had = _counts(self._frame(before), "had").join(left, "text", "left")
        fewer = had.where("had > coalesce(n, 0)").select("text")
        touched = self._frame(among).select("text").union(fewer).distinct().hint("merge")
        counted = touched.join(left, "text", "left").where(F.expr(f"coalesce(n, 0) < {bound}"))
        return _answer(counted.join(self._frame(within), "text", "left_semi"), F.min("text"))

    def _in_common(self, keys: KeyColumn, others: KeyColumn) -> DataFrame:
        return self._frame(keys).join(self._frame(others), "text", "left_semi")

    def _frame(self, keys: KeyColumn) -> DataFrame:
        slices = tuple(self._location.graph().text_slices(keys, ROWS_PER_TASK))
        read = ReadKeys(keys, slices, self._location.storage)
        numbers = self._spark.range(0, len(slices), 1, max(len(slices), 1))
        # Spark estimates the output of a function to be as small as its input, and would broadcast
        # it to every executor.
        return numbers.mapInArrow(read, COLUMNS).where("text IS NOT NULL").hint("merge")


def _repeated(frame: DataFrame) -> DataFrame:
    counted = frame.groupBy("text").agg(
        F.count("*").alias("n"), F.min("at").alias("first"), F.max("at").alias("last")
    )
    return counted.where("n > 1")


def _counts(frame: DataFrame, name: str) -> DataFrame:
    return frame.groupBy("text").agg(F.count("*").alias(name))


def _answer(frame: DataFrame, aggregate: Any) -> str | None:  # noqa: ANN401
    (row,) = frame.agg(aggregate).collect()
    key: str | None = row[0]
    return key


def _addresses(frame: DataFrame) -> Addresses:
    addresses = frame.select("at").toArrow().column("at").to_numpy().astype(np.uint64)
    return cast(Addresses, addresses)
