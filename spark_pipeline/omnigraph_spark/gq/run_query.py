"""Runs a `.gq` read on Spark, over the tables of one snapshot."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from omnigraph.errors import InvalidInput
from omnigraph.query import coerce_params, compile_query
from omnigraph.query.logical import ReadPlan
from omnigraph.schema import Catalog
from omnigraph_spark.data_source import pinned
from omnigraph_spark.gq.compile_read import SparkQuery, compile_read
from omnigraph_spark.graph_location import place_of


def query(
    spark: SparkSession,
    uri: str,
    text: str,
    params: Mapping[str, Any] | None = None,
    at: str = "main",
    *,
    name: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The rows of a `.gq` read, worked out by Spark; all tables are read at one commit.

    `options` are those of the data source (token, TLS, storage, partitions). A server, which has
    the schema and the adjacency at hand, runs the query itself.
    """
    settings = {"uri": uri, **(options or {})}
    place = place_of(settings)
    if place.served:
        asked = {**settings, "gq": text, "params": json.dumps(dict(params or {})), "at": at}
        asked |= {"gq_name": name} if name is not None else {}
        return spark.read.format("omnigraph").options(**asked).load()
    moment = pinned(place, at)
    compiled = compile_query(text, _catalog(settings, moment), name)
    if not isinstance(compiled.ir, ReadPlan):
        raise InvalidInput(
            f"{compiled.name} changes the graph and cannot run as a read",
            hint="Send it to Graph.mutate.",
        )
    prefix = f"omnigraph_{uuid.uuid4().hex}"
    made = compile_read(
        compiled.ir, coerce_params(compiled, params), datetime.now(UTC), prefix=prefix
    )
    return _frame(spark, made, {**settings, "at": moment})


def _catalog(settings: Mapping[str, str], moment: str) -> Catalog:
    return place_of(settings).graph().snapshot(moment).catalog


def _frame(spark: SparkSession, made: SparkQuery, settings: Mapping[str, str]) -> DataFrame:
    try:
        for view, (kind, type_name, columns) in made.views.items():
            options = {**settings, kind: type_name, "columns": ",".join(columns)}
            table = spark.read.format("omnigraph").options(**options).load()
            table.createOrReplaceTempView(view)
        rows = spark.sql(made.sql, args=dict(made.arguments))
    finally:
        for view in made.views:
            spark.catalog.dropTempView(view)
    return rows.toDF(*made.names)
