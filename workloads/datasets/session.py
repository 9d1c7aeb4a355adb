"""Starts and stops Spark, quietly and with bounded memory."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from workloads.datasets.errors import DatasetError
from workloads.datasets.interrupt import (
    interrupts_after,
    interrupts_as_before,
    quiet_py4j,
    was_interrupted,
)
from workloads.datasets.java import find_java

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
_STOP_TIMEOUT_S = 20

_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""A laptop's worth of defaults; `conf` overrides each. Shuffles are small, so few partitions."""


def spark_session(
    app: str, *, master: str = DEFAULT_MASTER, conf: Mapping[str, str], quiet: bool = True
) -> "SparkSession":
    """Return the running Spark session, or a new one.

    Sets JAVA_HOME, SPARK_LOCAL_IP and PYSPARK_PYTHON in this process's environment, which is how
    Spark's start scripts take them. While quiet, what the Java process prints goes to a log file in
    the folder for temporary files, which is shown when it does not start and removed when it stops.

    Raises:
        DatasetError: no Java, or Spark does not start.
    """
    from pyspark import SparkConf, SparkContext  # heavy
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ["JAVA_HOME"] = str(find_java().path)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Before Spark looks the host name up, which fails or warns on machines without a network.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = SparkConf().setAppName(app).setMaster(master)
    settings.setAll([*{**_DEFAULTS, **conf}.items()])
    log = _log()
    starts_java = SparkContext._gateway is None
    try:
        with interrupts_as_before():
            if starts_java and quiet:
                with log.open("wb") as sink:
                    streams = {"stdout": sink, "stderr": subprocess.STDOUT}
                    SparkContext._ensure_initialized(gateway=_launch(settings, streams))
            session = SparkSession.builder.config(conf=settings).getOrCreate()
    except (PySparkException, OSError) as error:
        said = log.read_text(errors="replace") if log.exists() else ""
        log.unlink(missing_ok=True)
        causes = [line for line in said.splitlines() if "Exception" in line or "Error" in line]
        why = causes[0] if causes else str(error)
        raise DatasetError(f"Spark does not start with master {master!r}: {why}") from error
    except BaseException:
        if starts_java:
            with interrupts_after():
                _end_java()
        raise
    session.sparkContext.setLogLevel("ERROR" if quiet else "WARN")
    return session


def _log() -> Path:
    """Return where a quiet Java process of this process prints to."""
    return Path(tempfile.gettempdir()) / f"lab-spark-{os.getpid()}.log"


def _launch(settings: "SparkConf", streams: dict[str, Any]) -> Any:
    """Start the Java process with its output going to `streams`; it is ended when that fails."""
    from pyspark.java_gateway import launch_gateway

    try:
        return launch_gateway(settings, streams)  # type: ignore[no-untyped-call]  # pyspark's gap
    except BaseException:
        with interrupts_after():
            _kill_launched()
        raise


def _kill_launched() -> None:
    """Kill the Java process that nobody has a handle of yet.

    It would stay: it looks at its pipe, with which it ends, only after it has written its address,
    and the folder for that is gone.
    """
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "_PYSPARK_DRIVER_CONN_INFO_PATH" in process.environ():
                process.kill()
                found.append(process)
    psutil.wait_procs(found, timeout=_STOP_TIMEOUT_S)


def stop_spark(session: "SparkSession") -> None:
    """Stop a session and its Java process, so that nothing of it is left. May be called twice."""
    try:
        session.stop()
    finally:
        _end_java()


def _end_java() -> None:
    """End the Java process and remove its log; nothing where there is none."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = None
    SparkContext._jvm = None
    try:
        if gateway is not None:
            gateway.shutdown()
    finally:
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()  # the Java process ends when this pipe does
            try:
                process.wait(timeout=_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _log().unlink(missing_ok=True)


@contextmanager
def spark(app: str, *, master: str, conf: Mapping[str, str]) -> "Iterator[SparkSession]":
    """Give a session for a while: the running one, else one that is stopped at the end.

    A Ctrl-C at any moment ends in a KeyboardInterrupt, after Spark has been stopped.

    Raises:
        DatasetError: Spark does not start, or a job fails in the block.
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # has no stubs
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    with quiet_py4j():
        try:
            session = running or spark_session(app, master=master, conf=conf)
            try:
                yield session
            finally:
                if running is None:
                    with interrupts_after():
                        stop_spark(session)
        except Exception as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from None
            if not isinstance(error, PySparkException | Py4JError):
                raise
            raise DatasetError(f"Spark failed in {app!r}: {_reason(str(error))}") from error


def _reason(message: str) -> str:
    """Return the line of a Spark error that says why: a Python task's last, else the first."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    traced = any(line.startswith("Traceback") for line in lines)
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b: ?", line)]
    return (errors[-1] if traced and errors else lines[0] if lines else "no reason given")[:500]
