from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from workloads.datasets.catalog import Catalog
from workloads.datasets.session import spark_session, stop_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: the pipeline uses the running one."""
    session = spark_session("tests", master="local[2]", conf={})
    yield session
    stop_spark(session)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(root=tmp_path / "data")
