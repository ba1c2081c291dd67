"""What dbt promises of `python_model`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.python_model import test_python_model, test_spark


class TestPythonModelTests(test_python_model.BasePythonModelTests):
    pass


class TestPythonIncrementalTests(test_python_model.BasePythonIncrementalTests):
    pass


class TestPythonMetaGetTests(test_python_model.BasePythonMetaGetTests):
    pass


class TestPythonEmptyTests(test_python_model.BasePythonEmptyTests):
    pass


class TestPythonSampleTests(test_python_model.BasePythonSampleTests):
    pass


class TestPySparkTests(test_spark.BasePySparkTests):
    pass
