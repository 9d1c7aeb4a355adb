"""A broker for the tests of a module."""

import psutil
import pytest

from tests.lab.cluster.commands import run_command


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("broker")


@pytest.fixture(scope="module")
def broker(place):
    """The address of a broker; nothing may be left of it at the end."""
    up = run_command(place, "broker", "up", "--memory-mb", "256")
    assert up.returncode == 0, up.stderr
    yield up.stdout.strip()
    down = run_command(place, "broker", "down")
    assert down.returncode == 0, down.stderr
    below = str(place / "clusters")
    found = psutil.process_iter(["cmdline"])
    assert [p for p in found if below in " ".join(p.info["cmdline"] or ())] == []
    assert not (place / "clusters" / "kafka").exists()
