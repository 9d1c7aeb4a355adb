from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from workloads.datasets.catalog import Catalog
from workloads.datasets.session import spark_session, stop_spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session for a module's tests: the pipeline uses the running one.

    Not for all tests: an engine test that found it running would use it, and stop it.
    """
    session = spark_session("tests", master="local[2]", conf={})
    yield session
    stop_spark(session)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(root=tmp_path / "data")
