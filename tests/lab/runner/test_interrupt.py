"""Ctrl-C in a terminal, which reaches every process of the foreground group, while Spark starts."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from streamlab.lab.cli import EXIT_INTERRUPTED
from tests.processes import Popen

PATIENCE_S = 600


def alive(group: int) -> list[str]:
    """Command lines of the processes of a session."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, ProcessLookupError):
            continue
    return found


@pytest.mark.spark
def test_ctrl_c_while_spark_starts_for_a_dataset_is_reported_in_a_line(tmp_path):
    matrix, scratch, catalogue = tmp_path / "m.toml", tmp_path / "scratch", tmp_path / "data"
    scratch.mkdir()
    # Minutes of work, should the interrupt be lost.
    matrix.write_text(
        '[run]\nenergy = "none"\n[[workload]]\nname = "event_window"\nevents = 1_000_000_000\n'
        '[[engine]]\nname = "reference"\n'
    )
    process = Popen(
        [sys.executable, "-m", "streamlab", "run", str(matrix), "--master", "local[2]"],
        env={
            **os.environ,
            "LAB_DATA": str(catalogue),
            "LAB_RUNS": str(tmp_path / "runs"),
            "TMPDIR": str(scratch),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + PATIENCE_S
    while not any("org.apache.spark" in command for command in alive(process.pid)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "Spark was not started"
        time.sleep(0.05)
    assert list(scratch.glob("lab-spark-*")) == []  # no name that others could guess
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == EXIT_INTERRUPTED, err
    assert err.splitlines()[-1] == "lab: interrupted"
    assert "Traceback" not in err and "py4j" not in err.lower(), err
    assert out == ""
    assert list(catalogue.iterdir()) == []
    deadline = time.monotonic() + PATIENCE_S
    while left := alive(process.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
