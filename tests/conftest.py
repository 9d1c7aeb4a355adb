"""Fixtures of all tests: a limit of time, a fast Java, one Spark, a folder in place of the user's.

Collection makes hundreds of thousands of objects that stay until the end. The garbage collector is
off meanwhile and does not look at them later: that was a third of collection. Tests are kept as
compiled (`PYTHONDONTWRITEBYTECODE` or not), with which the next session begins in half the time.

A test's Spark lives for seconds, in which the second compiler and a parallel collector cost more
than they give: without them the same tests need 0.6 of the processor time. Answers do not change.
NumPy's other threads, which nothing here uses, spin while each of hundreds of processes starts.
"""

import gc
import os
import sys
import time
from pathlib import Path

import pytest

from tests.examples import draw
from tests.groups import group_of
from tests.groups import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler
from tests.pairwise import mark_left_out
from tests.processes import end_started
from tests.too_long import SHARED_S
from tests.too_long import pytest_runtest_makereport as pytest_runtest_makereport
from tests.too_long import pytest_terminal_summary as pytest_terminal_summary

gc.disable()
WRITES_NOTHING, sys.dont_write_bytecode = sys.dont_write_bytecode, False
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_configure(config):
    """Draw fewer random examples where something is left to `make test-all`, which gives -m ''."""
    draw(1 / 8 if config.option.markexpr else 1)


@pytest.hookimpl(tryfirst=True)  # before what is marked `full` is left out
def pytest_collection_modifyitems(items):
    """Thin products, and put tests on the shared Spark first: their process is the last to end."""
    mark_left_out(items)
    for item in items:
        if "spark" in item.fixturenames and group_of(item.nodeid) != "spark":
            raise pytest.UsageError(f"{item.nodeid} is on the shared Spark: say so in its name")
        if "podman_engine" in item.fixturenames and group_of(item.nodeid) != "kills":
            raise pytest.UsageError(
                f"{item.nodeid} starts an engine of containers: tests/groups.py"
            )
    items.sort(key=lambda item: "spark" not in item.fixturenames)


def pytest_collection_finish():
    """Leave what is there alone from now on, and collect what tests make."""
    sys.dont_write_bytecode = WRITES_NOTHING
    gc.collect()
    gc.freeze()
    # The compiler of kernels and Hypothesis make many objects that live a little longer than a few
    # hundred others: with Python's own threshold looking at them is a tenth of a compilation.
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_runtest_setup(item):
    """Stop the shared Spark before a test that did not ask for it: it would be found and used."""
    if "spark" not in item.fixturenames:
        stop_shared_spark()


def pytest_runtest_teardown():
    """End the processes that the test has started."""
    end_started()


def pytest_sessionfinish():
    """Stop the shared Spark; at the end Python sees all objects, or nanobind calls some leaked."""
    stop_shared_spark()
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def users_folder(tmp_path_factory):
    """Keep what tests make outside a checkout apart from the user's own datasets and runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("share")))
        yield


@pytest.fixture(autouse=True)
def own_imports(tmp_path_factory):
    """Forget what a test imported from its own folder: another's has modules of the same names."""
    path, before = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(tmp_path_factory.getbasetemp()):
            del sys.modules[name]


@pytest.fixture
def spark(request):
    """The running Spark session: engines and datasets use it. Settings end with the test."""
    from streamlab.workloads.datasets.spark_session import spark_session

    begin_s = time.monotonic()
    session = spark_session("tests", master="local[2]", conf={})
    request.node.stash[SHARED_S] = time.monotonic() - begin_s
    before = dict(session.conf.getAll)
    yield session
    after = session.conf.getAll
    for name in after.keys() - before.keys():
        session.conf.unset(name)
    for name, value in before.items():
        if after.get(name) != value:
            session.conf.set(name, value)


def stop_shared_spark():
    """Stop the session that runs in this process, if any."""
    if "pyspark" not in sys.modules:
        return
    from pyspark.sql import SparkSession

    from streamlab.workloads.datasets.spark_session import stop_spark

    session = SparkSession.getActiveSession()
    if session is not None:
        stop_spark(session)
