"""Python models: run in this process, on Spark, against the branch of the run.

`dbt.ref()` and `dbt.source()` read through the Spark source of OmniGraph, partition by partition;
what a model returns is written through its Spark writer, in one commit of the branch.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.omnigraph.connection_pool import Endpoint, Handle
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-Dlog4j2.level=ERROR",
}
"""For Spark in this process; `spark_config` of the profile overrides them."""

_starting = threading.Lock()
"""Held while a session is started: models of several threads share one."""


@dataclass(frozen=True)
class ModelRun:
    """What the compiled code of a model gets: a session, and functions to read and to write."""

    session: Any
    endpoint: Endpoint
    handle: Handle
    rows: list[int]
    """How many rows each write had."""

    def read(self, relation: str) -> Any:  # noqa: ANN401 - a DataFrame of Spark
        """A relation of the branch, as SQL names it."""
        # A plain name can be read in slices; anything else is a query to the server.
        named = (
            {"table": relation}
            if relation.count(".") == 1
            else {"query": f"select * from {relation}"}
        )
        options = {**_options(self.endpoint), **named, "at": self.handle.branch}
        return self.session.read.format("omnigraph").options(**options).load()

    def write(self, schema: str, table: str, result: object) -> None:
        """Replace a plain table with what a model has returned."""
        import omnigraph_spark

        frame = spark_frame(self.session, result)
        options = _options(self.endpoint)
        with omnigraph_spark.graph_write(
            self.session, options.pop("uri"), self.handle.branch, options=options
        ) as writing:
            writing.table(f"{schema}.{table}", frame, mode="overwrite")
        self.rows.append(sum(writing.rows.values()))


class SparkModel(PythonJobHelper):
    """One Python model, run on Spark."""

    def __init__(
        self,
        parsed_model: Mapping[str, Any],
        credentials: OmniGraphCredentials,
        endpoint: Endpoint,
        handle: Handle,
    ) -> None:
        self._file = str(parsed_model["original_file_path"])
        self._name = str(parsed_model["name"])
        self._credentials = credentials
        self._endpoint = endpoint
        self._handle = handle

    def submit(self, compiled_code: str) -> int:
        """Run the model; how many rows it has written."""
        session = spark_session(self._credentials)
        run = ModelRun(session, self._endpoint, self._handle, [])
        scope: dict[str, Any] = {"__name__": f"dbt_model_{self._name}", "spark": session}
        tag = f"dbt-{uuid.uuid4()}"
        session.addTag(tag)
        self._handle.on_cancel = lambda: session.interruptTag(tag)
        try:
            # Without what macros put before it, lines count as in the model's file.
            exec(compile(compiled_code.lstrip(), self._file, "exec"), scope)
            scope["materialize"](run)
        except Exception as error:  # noqa: BLE001 - whatever the code of a user raises
            raise DbtRuntimeError(_with_model_lines(error, self._file)) from error
        finally:
            self._handle.on_cancel = None
            session.removeTag(tag)
        return sum(run.rows)


def spark_session(credentials: OmniGraphCredentials) -> Any:  # noqa: ANN401
    """The active session of this process, or a new one."""
    try:
        from pyspark.sql import SparkSession

        import omnigraph_spark  # noqa: F401
    except ImportError as error:
        raise DbtRuntimeError(
            f"a Python model runs on Spark, which is not installed ({error}): "
            "pip install 'dbt-omnigraph[spark]'"
        ) from error
    with _starting, warnings.catch_warnings():
        # Lance warns of any fork; the JVM is started by one that runs another program at once.
        warnings.simplefilter("ignore")
        if credentials.spark_remote:
            builder = SparkSession.builder.remote(credentials.spark_remote)
            defaults: dict[str, str] = {}
        else:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = SparkSession.builder.master("local[*]").appName("dbt")
            defaults = _DEFAULTS
        for name, value in {**defaults, **(credentials.spark_config or {})}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        # Filters of a model go into the tables that it reads.
        session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
        return session


def spark_frame(session: Any, result: object) -> Any:  # noqa: ANN401
    """What a model returned, as a DataFrame of Spark: also from pandas, polars and Arrow."""
    import pyarrow as pa

    # By module, not by attribute: a DataFrame of Spark Connect has every attribute, as a column.
    module = type(result).__module__
    if module.startswith("pyspark.pandas"):
        return result.to_spark()  # type: ignore[attr-defined]
    if module.startswith("pyspark.sql"):
        return result
    if module.startswith("polars"):
        result = result.to_arrow()  # type: ignore[attr-defined]
    if isinstance(result, pa.Table) or module.startswith("pandas"):
        return session.createDataFrame(result)
    raise DbtRuntimeError(
        f"the model returned {type(result).__name__}; return a DataFrame of Spark, pandas or "
        "polars, or an Arrow table"
    )


def _options(endpoint: Endpoint) -> dict[str, str]:
    """The options of the Spark data source for a server."""
    credentials = endpoint.credentials
    options = {
        "uri": endpoint.uri,
        "graph": credentials.graph,
        "token": credentials.token,
        "user": credentials.username,
        "password": credentials.password,
        "tls.roots": credentials.root_certificates(),
        "tls.skip_verify": "true" if credentials.tls_skip_verify else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _with_model_lines(error: Exception, file: str) -> str:
    """The error with the lines of the model's own file that led to it."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
    ]
    lines = "".join(f"\n  {file}:{frame.lineno} in {frame.name}" for frame in frames)
    return f"{type(error).__name__}: {error}{lines}"
