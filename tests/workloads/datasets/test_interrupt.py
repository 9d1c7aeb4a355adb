"""Ctrl-C around Spark, without Spark: what is raised, and when."""

import contextlib
import logging
import signal
import threading
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import PythonException

from streamlab.workloads.datasets import spark_session
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.interrupt import (
    delay_interrupts,
    quiet_py4j,
    restore_interrupts,
    was_interrupted,
)


@pytest.fixture(autouse=True)
def handler():
    """The handler of Python itself, whatever other tests have left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt), delay_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]


def test_without_an_interrupt_nothing_is_raised():
    with delay_interrupts():
        within = signal.getsignal(signal.SIGINT)
    assert within is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_in_another_thread_the_block_runs_and_handlers_stay():
    done = []

    def block():
        with delay_interrupts(), restore_interrupts():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert done == [signal.default_int_handler]


def test_a_handler_that_the_block_sets_does_not_stay():
    with restore_interrupts():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_whose_exception_was_dropped_in_the_block_is_raised_at_its_end():
    done = []
    with pytest.raises(KeyboardInterrupt), restore_interrupts():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]


def test_only_an_error_that_comes_of_an_interrupt_is_one():
    assert not was_interrupted(ValueError())
    assert was_interrupted(interrupted_error())


def interrupted_error(error=None):
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise error or Py4JError("the connection is gone")  # noqa: B904  its context is meant
    except Py4JError as raised:
        return raised


class Session:
    """Notes that it was stopped, and fails at that as Spark does when its connection is gone."""

    stopped = False

    def stop(self):
        self.stopped = True
        raise Py4JError("cannot stop")


@pytest.fixture
def started(monkeypatch):
    made = Session()
    monkeypatch.setattr(spark_session, "spark_session", lambda app, master, conf: made)
    return made


def test_an_interrupt_is_one_although_spark_fails_to_stop(started):
    with pytest.raises(KeyboardInterrupt), spark_session.spark("x", master="local[1]", conf={}):
        raise KeyboardInterrupt
    assert started.stopped


def test_an_error_in_place_of_an_interrupt_is_an_interrupt(started):
    with pytest.raises(KeyboardInterrupt), spark_session.spark("x", master="local[1]", conf={}):
        raise interrupted_error()


@pytest.mark.parametrize("raised", ["by Python in a task", "on the way to Java"])
def test_any_other_error_of_spark_is_reported(started, raised, monkeypatch):
    """The first, as pyspark makes it, asserts that there is Java when its message is read."""
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(shutdown=lambda: None))
    monkeypatch.setattr(SparkContext, "_jvm", object())
    if raised == "on the way to Java":
        error = Py4JError("OSError: out of ideas")
    else:
        text = "\nTraceback (most recent call last):\n  File ...\nOSError: out of ideas\n"
        error = PythonException(desc=text, stackTrace="at org.apache.spark")
    with (
        pytest.raises(DatasetError, match=r"^Spark failed in 'x': OSError: out of ideas$"),
        spark_session.spark("x", master="local[1]", conf={}),
    ):
        raise error
    assert SparkContext._jvm is None
    if raised == "by Python in a task":
        with pytest.raises(AssertionError):  # so that it had to be read before
            str(error)


def test_logs_of_py4j_are_dropped_only_in_the_block(caplog):
    def log():
        logging.getLogger("py4j.java_gateway").error("of its own logger")
        fields = {
            "pathname": "/site-packages/py4j/java_gateway.py",
            "msg": "of the root",
            "levelno": logging.ERROR,
            "levelname": "ERROR",
        }
        logging.getLogger().handle(logging.makeLogRecord(fields))
        logging.getLogger("workloads").error("of others")

    with quiet_py4j():
        log()
    assert caplog.messages == ["of others"]
    log()
    assert len(caplog.messages) == 4
