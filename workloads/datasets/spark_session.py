"""Starts and stops Spark, quietly and with bounded memory."""

import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

import psutil

from streamlab.workloads.datasets import py4j, pyspark
from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.interrupt import (
    delay_interrupts,
    quiet_py4j,
    restore_interrupts,
    was_interrupted,
)
from streamlab.workloads.datasets.java import find_java
from streamlab.workloads.optional_packages import missing_package

DEFAULT_MASTER = "local[*]"
"""Runs Spark on all cores of this machine."""
_STOP_TIMEOUT_S = 20
"""Time for the Java process to end before it is killed."""

_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    # Without Hadoop's native library, the default starts a process `readlink` for each access to a
    # checkpoint file. This takes a third of the time of a small micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Defaults for a laptop, which `conf` overrides. Shuffles are small, so there are few partitions."""


def spark_session(
    app: str,
    *,
    master: str = DEFAULT_MASTER,
    conf: Mapping[str, str],
    python: str = sys.executable,
    check: Callable[[Any], None] | None = None,
) -> "pyspark.sql.SparkSession":
    """Return the running Spark session, or a new one.

    Sets JAVA_HOME, SPARK_LOCAL_IP, PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON in this process's environment, because
    Spark's start scripts read them. The Java process's output goes to an unnamed temporary file. If Java does not
    start, the error quotes it.

    Args:
        app: the application's name.
        master: the master URL.
        conf: settings, which override the defaults.
        python: path of the tasks' Python on every node.
        check: called with the JVM view of the Java process before Spark starts in it; may raise.

    Raises:
        DatasetError: no PySpark, no Java, the user has no name, or Spark does not start.
    """
    running = _running_session()
    if running is not None:
        return running
    os.environ["JAVA_HOME"] = str(find_java().path)
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Otherwise Spark looks up the host name, which fails or warns on machines without a network.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = pyspark.SparkConf().setAppName(app).setMaster(master)
    settings.setAll([*{**_DEFAULTS, **conf}.items()])
    starts_java = pyspark.SparkContext._gateway is None
    with tempfile.TemporaryFile() as log:
        try:
            with restore_interrupts():
                if starts_java:
                    streams = {"stdout": log, "stderr": subprocess.STDOUT}
                    pyspark.SparkContext._ensure_initialized(gateway=_launch(settings, streams))
                if check is not None:
                    check(pyspark.SparkContext._jvm)
                session = pyspark.sql.SparkSession.builder.config(conf=settings).getOrCreate()
        except BaseException as error:
            failed = isinstance(error, pyspark.errors.PySparkException | py4j.Py4JError | OSError)
            why = _logged_error(log) or _reason(str(error)) if failed else ""  # while Java runs
            if starts_java:
                with delay_interrupts():
                    _end_java()
            if not failed or was_interrupted(error):
                raise
            raise DatasetError(f"Spark does not start with master {master!r}: {why}") from None
    session.sparkContext.setLogLevel("ERROR")
    return session


def _running_session() -> "pyspark.sql.SparkSession | None":
    """Return the running session, or None; raises `DatasetError` if Spark cannot start here."""
    refusal = spark_refusal()
    if refusal is not None:
        raise DatasetError(refusal)
    return pyspark.sql.SparkSession.getActiveSession()


def spark_refusal() -> str | None:
    """Return why Spark cannot start here: a missing package, or a user without a name. None if it can.

    Spark uses Hadoop's file systems, which look up the user in the password database and ignore environment variables.
    The database may lack a container's user.
    """
    missing = missing_package("pyspark")
    if missing is not None:
        return str(missing)
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return (
            f"user {os.getuid()} has no name, and Spark needs one; add to /etc/passwd the line "
            f"user:x:{os.getuid()}:{os.getgid()}::/tmp:/bin/sh"
        )
    return None


def _logged_error(log: IO[bytes]) -> str:
    """Return the first line in a log that reports an error; empty if no line does."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    return next((line for line in lines if "Exception" in line or "Error" in line), "")


def _launch(settings: "pyspark.SparkConf", streams: dict[str, object]) -> Any:
    """Start the Java process with its output to `streams`; end it if the start fails."""
    running_before = _children()
    try:
        return pyspark.java_gateway.launch_gateway(settings, streams)  # type: ignore[no-untyped-call]  # pyspark's gap
    except BaseException:
        with delay_interrupts():
            _kill_launched(running_before)
        raise


def _children() -> set[psutil.Process]:
    return {*psutil.Process().children(recursive=True)}


def _kill_launched(running_before: set[psutil.Process]) -> None:
    """Kill the processes that did not run before: a Java process that was started but not yet connected.

    The process would not end by itself. It checks its pipe only after writing its address, to a folder that is already
    deleted. Its environment cannot identify it, because the environment is empty while the start script becomes Java.
    """
    launched = _children() - running_before
    for process in launched:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs([*launched], timeout=_STOP_TIMEOUT_S)


def stop_spark(session: "pyspark.sql.SparkSession") -> None:
    """Stop a session and its Java process. A second call does nothing."""
    try:
        session.stop()
    finally:
        _end_java()


def _end_java() -> None:
    """End the Java process, if any."""
    gateway = pyspark.SparkContext._gateway
    pyspark.SparkContext._gateway = None
    pyspark.SparkContext._jvm = None
    try:
        if gateway is not None:
            gateway.shutdown()
    finally:
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()  # the Java process ends when this pipe is closed
            try:
                process.wait(timeout=_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                with suppress(subprocess.TimeoutExpired):  # blocked in the kernel
                    process.wait(timeout=_STOP_TIMEOUT_S)


@contextmanager
def spark(
    app: str, *, master: str, conf: Mapping[str, str]
) -> "Iterator[pyspark.sql.SparkSession]":
    """Yield the running session, or a new one that is stopped at the end.

    A Ctrl-C at any time raises KeyboardInterrupt, but a new session is stopped first.

    Raises:
        DatasetError: Spark cannot start here or does not start, or a job fails in the block.
    """
    running = _running_session()
    with quiet_py4j():
        try:
            session = running or spark_session(app, master=master, conf=conf)
            try:
                yield session
            except (pyspark.errors.PySparkException, py4j.Py4JError) as error:
                if was_interrupted(error):
                    raise
                # Read the message now, because Java has it. Omit the cause, which cannot be shown
                # after Java has ended.
                raise DatasetError(f"Spark failed in {app!r}: {_reason(str(error))}") from None
            finally:
                if running is None:
                    # If Java has already ended, stopping fails, but is not needed either.
                    with delay_interrupts(), suppress(py4j.Py4JError):
                        stop_spark(session)
        except Exception as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from None
            raise


def _reason(message: str) -> str:
    """Return the line of a Spark error that states the reason: the last error of a Python traceback, or line 1."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    has_traceback = any(line.startswith("Traceback") for line in lines)
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b: ?", line)]
    if has_traceback and errors:
        return errors[-1][:500]
    return lines[0][:500] if lines else "no reason stated"
