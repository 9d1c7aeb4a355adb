"""A cluster of Spark that cannot run a task is refused with the reason."""

import socket
import time
from dataclasses import replace

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.cluster import lacking, master_check, settings_of
from streamlab.engines.spark.workloads import SparkOptions
from tests.engines.clock import load_at_once
from tests.engines.spark.inputs import spark_input
from tests.engines.spark.runs import spark_task

NODES = [("a", 2, 2, 4096, 4096), ("b", 2, 1, 4096, 1000)]
"""Host, cores, free cores, memory and free memory."""


@pytest.mark.parametrize(
    ("workers", "memory_mb", "words"),
    [
        (2, 1024, None),
        (3, 1000, None),
        (5, 1000, "has 4 cores on 2 workers, and the task needs 5"),
        (4, 1000, "has 3 of 4 cores free, and the task needs 4: the rest belong to other"),
        (3, 1024, "has 2 free cores on workers with 1024 MB of free memory, and the task needs 3"),
    ],
)
def test_cores_and_memory_are_compared_with_those_that_are_free(workers, memory_mb, words):
    lack = lacking(NODES, workers, memory_mb, ["other"])
    assert lack is None if words is None else words in lack


@pytest.mark.parametrize("master", ["127.0.0.1:7077", "local[2]", "http://master"])
def test_an_address_of_no_cluster_is_refused(master, tmp_path):
    data = spark_input("event_window", seed=1)
    task = spark_task("event_window", data, tmp_path, variant="batch", master=master)
    assert "it must be spark://HOST:PORT, yarn or k8s://URL" in SparkEngine().unsupported(task)


def test_an_offered_load_is_refused(tmp_path):
    data = spark_input("event_window", seed=1)
    task = spark_task("event_window", data, tmp_path, master="spark://master:7077")
    loaded = replace(task, load=load_at_once([len(stream) for stream in data.streams]))
    assert "takes no load on a cluster" in SparkEngine().unsupported(loaded)


@pytest.mark.parametrize("master", ["spark://127.0.0.1", "spark://:7077", "spark://a:b"])
def test_an_address_without_host_or_port_is_refused(master):
    with pytest.raises(EngineError, match="it must be spark://HOST:PORT"):
        settings_of(SparkOptions(master=master), master, 1)


def test_a_master_that_does_not_listen_is_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{free.getsockname()[1]}"
    begin = time.monotonic()
    with pytest.raises(EngineError, match=f"no Spark master answers at {master} .*refused"):
        settings_of(SparkOptions(master=master), master, 1)
    assert time.monotonic() - begin < 20


def test_the_first_master_that_listens_is_used():
    with socket.create_server(("127.0.0.2", 0)) as second:
        master = f"spark://127.0.0.1:1,127.0.0.2:{second.getsockname()[1]}"
        settings = settings_of(SparkOptions(master=master), master, 2)
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.cores.max"] == "2"


def test_the_resources_of_several_masters_are_not_read_from_one_that_may_be_in_standby():
    master = "spark://127.0.0.1:1,127.0.0.2:1"  # nothing listens
    master_check(SparkOptions(master=master), master, 2)(None)
