"""What dbt promises of `python_model`, as its own suite for adapters says it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from dbt.tests.adapter.python_model import test_python_model, test_spark


class TestPythonModel(test_python_model.BasePythonModelTests):
    pass


class TestPythonIncremental(test_python_model.BasePythonIncrementalTests):
    pass


class TestPythonMetaGet(test_python_model.BasePythonMetaGetTests):
    pass


class TestPythonEmpty(test_python_model.BasePythonEmptyTests):
    pass


class TestPythonSample(test_python_model.BasePythonSampleTests):
    pass


class TestPySpark(test_spark.BasePySparkTests):
    @pytest.fixture(autouse=True)
    def koalas(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Koalas ended as `pyspark.pandas`, and does not install beside a Spark of today."""
        import pyspark.pandas

        package = ModuleType("databricks")
        package.koalas = pyspark.pandas  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "databricks", package)
        monkeypatch.setitem(sys.modules, "databricks.koalas", pyspark.pandas)
        yield
