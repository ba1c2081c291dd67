"""Python models: the model's code runs on Spark, its tables come and go through our data source."""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.omnigraph.credentials import OmniGraphCredentials


class SparkJobHelper(PythonJobHelper):
    """Runs a compiled model in a Spark session of this process, or on Spark Connect."""

    def __init__(self, parsed_model: dict[str, Any], credential: OmniGraphCredentials) -> None:
        self._model = parsed_model
        self._credentials = credential

    def submit(self, compiled_code: str) -> None:
        session = _session(self._credentials)
        namespace: dict[str, Any] = {"spark": session}
        code = compile(compiled_code, self._model["path"], "exec")
        exec(code, namespace)
        namespace["materialize"](session)


def _session(credentials: OmniGraphCredentials) -> Any:  # noqa: ANN401 - Spark is optional
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise DbtRuntimeError("Python models run on Spark: pip install omnigraph-spark") from error
    builder = SparkSession.builder.appName("dbt-omnigraph")
    if credentials.spark_remote:
        builder = builder.remote(credentials.spark_remote)
    for key, value in credentials.spark_config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
