"""Nodes that each run as their own command form a cluster, as containers and machines do."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from streamlab.lab.cluster.network import free_ports
from tests.lab.cluster.commands import LAB, run_command
from tests.processes import Popen

HOSTS = "127.0.0.1,127.0.0.2"
ANSWERS = Path(__file__).parents[3] / "tools" / "node-answers"
DEADLINE_S = 120


def start_node(place: Path, host: str, *words: str) -> Popen:
    environ = os.environ | {"LAB_CLUSTERS": str(place / "clusters")}
    command = [LAB, "cluster", "node", "--engine", "spark", "--hosts", HOSTS, "--host", host]
    with (place / f"{host}.log").open("wb") as log:
        return Popen([*command, *words], env=environ, stdout=log, stderr=subprocess.STDOUT)


@pytest.mark.spark
def test_a_worker_joins_the_master_that_its_options_name_and_both_end_by_a_signal(tmp_path):
    ports = [str(port) for port in free_ports("127.0.0.1")]
    nodes = [start_node(tmp_path, host, "--ports", *ports) for host in HOSTS.split(",")]
    page = [ANSWERS, "127.0.0.1", ports[1], "/json/", "aliveworkers.* 1"]
    deadline = time.monotonic() + DEADLINE_S
    while subprocess.run(page, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, (tmp_path / "127.0.0.2.log").read_text()
        time.sleep(0.2)
    for node in reversed(nodes):
        node.send_signal(signal.SIGTERM)
        # The shutdown hooks of Java end with 128 and the signal.
        assert node.wait(DEADLINE_S) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ("spark", "--hosts", "a,b", "--host", "c"),
            "--hosts a,b names this node's host c 0 times",
        ),
        (
            ("spark", "--hosts", "a,a", "--host", "a"),
            "--hosts a,a names this node's host a 2 times",
        ),
        (("reference", "--hosts", "a", "--host", "a"), "engine reference has no clusters"),
    ],
)
def test_a_node_that_cannot_be_one_is_refused_with_the_reason(words, reason, tmp_path):
    done = run_command(tmp_path, "cluster", "node", "--ports", "1", "2", "--engine", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"lab: {reason}")
