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
from omnigraph_spark.gq.compile_read import SparkQuery, compile_read
from omnigraph_spark.graph_location import location_of
from omnigraph_spark.pinned_moment import pinned_moment


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
    """The rows of a `.gq` read, computed by Spark; all tables are read at one commit.

    `options` are those of the data source (token, TLS, storage, partitions). A server, which has
    the schema and the adjacency at hand, runs the query itself.
    """
    settings = {"uri": uri, **(options or {})}
    location = location_of(settings)
    if location.is_server:
        sent = {**settings, "gq": text, "params": json.dumps(dict(params or {})), "at": at}
        sent |= {"gq_name": name} if name is not None else {}
        return spark.read.format("omnigraph").options(**sent).load()
    moment = pinned_moment(location, at)
    compiled = compile_query(text, location.graph().snapshot(moment).catalog, name)
    if not isinstance(compiled.ir, ReadPlan):
        raise InvalidInput(
            f"{compiled.name} changes the graph and cannot run as a read",
            hint="Run it with Graph.mutate.",
        )
    prefix = f"omnigraph_{uuid.uuid4().hex}"
    spark_query = compile_read(
        compiled.ir, coerce_params(compiled, params), datetime.now(UTC), prefix=prefix
    )
    return _frame(spark, spark_query, {**settings, "at": moment})


def _frame(spark: SparkSession, spark_query: SparkQuery, settings: Mapping[str, str]) -> DataFrame:
    try:
        for view, (kind, type_name, columns) in spark_query.views.items():
            options = {**settings, kind: type_name, "columns": ",".join(columns)}
            table = spark.read.format("omnigraph").options(**options).load()
            table.createOrReplaceTempView(view)
        rows = spark.sql(spark_query.sql, args=dict(spark_query.arguments))
    finally:
        for view in spark_query.views:
            spark.catalog.dropTempView(view)
    return rows.toDF(*spark_query.names)
