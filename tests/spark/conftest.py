"""One Spark session for all tests of this folder: a JVM takes longer to start than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark.sessions import local_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("local[2]")
    yield session
    session.stop()
