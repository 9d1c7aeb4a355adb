"""No topic of a trial stays on the broker, however the trial or the lab ends."""

import os
import signal
import subprocess
import time

import psutil
import pytest

from streamlab.engines.kafka_streams.adapter import KafkaStreamsEngine
from tests.engines.broker.broker_tasks import NEEDS_BROKER, needs, topics_at
from tests.lab.cluster.commands import LAB
from tests.processes import Popen

pytestmark = NEEDS_BROKER

PATIENCE_S = 120


def awaits(condition):
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def loaded_run(place, broker, query, engine):
    """Start `lab run` with a load of a minute, and wait until its trial has topics; return the process."""
    folders = {"LAB_RUNS": str(place / "runs"), "LAB_DATA": str(place / "data")}
    words = ("--engine", engine, "--option", f"{engine}.broker={broker}", "--events", "70000")
    load = ("--load", "rate_eps=1000", "--load", "warm_up_s=1", "--load", "window_s=60")
    process = Popen(
        [LAB, "run", query, *words, *load, "--repetitions", "1"],
        env=os.environ | folders,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # The trial's log is made after the broker is warm and its ceiling is measured.
    awaits(lambda: process.poll() is not None or [*place.glob(f"runs/*/logs/{query}*.log")])
    awaits(lambda: process.poll() is not None or topics_at(broker))
    assert process.poll() is None, process.stdout.read()
    return process


def kill_trial(process):
    """Kill the measured process, as a lack of memory would."""
    for child in psutil.Process(process.pid).children(recursive=True):
        if child.cmdline()[1:3] == ["-m", "streamlab.lab.trial"]:
            child.kill()


def interrupt(process):
    process.send_signal(signal.SIGINT)


def kill_lab(process):
    process.kill()


@pytest.mark.parametrize(
    "end",
    [
        kill_trial,
        pytest.param(interrupt, marks=pytest.mark.full),
        pytest.param(kill_lab, marks=pytest.mark.full),
    ],
)
def test_topics_of_a_load_are_deleted_after(end, broker, tmp_path):
    process = loaded_run(tmp_path, broker, "event_window", "multicore")
    end(process)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0  # the load did not end by itself
    awaits(lambda: topics_at(broker) == [])


@pytest.mark.full
def test_repartition_topics_of_a_killed_trial_are_deleted(broker, tmp_path):
    needs(KafkaStreamsEngine())
    process = loaded_run(tmp_path, broker, "nexmark_q9", "kafka-streams")
    awaits(lambda: any("repartition" in name for name in topics_at(broker)))
    kill_trial(process)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    assert topics_at(broker) == []
