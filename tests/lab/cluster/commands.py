"""Runs `lab` with folders of its own, for tests of clusters."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from streamlab.results.schema import TrialRow
from streamlab.results.store import read_run

LAB = Path(sysconfig.get_path("scripts")) / "lab"
ROOT_ONLY = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2"
)


def run_command(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `lab` with folders below `place`."""
    folders = {f"LAB_{name.upper()}": str(place / name) for name in ("clusters", "runs", "data")}
    return subprocess.run(
        [LAB, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | folders,
        check=False,
    )


def run_row(place: Path, *words: str, query: str = "event_window") -> TrialRow:
    """Run a workload on two workers, without a warm-up, and return its row."""
    done = run_command(place, "run", query, "--events", "20000", "-w", "2", *words)
    assert done.stdout, done.stderr
    (row,) = read_run(Path(done.stdout.splitlines()[-1])).rows
    return row


@contextmanager
def cluster(place: Path, engine: str, *words: str) -> Iterator[str]:
    """Start a cluster of two workers with a core each, and yield its address; nothing may be left at the end."""
    up = run_command(place, "cluster", "up", "--engine", engine, *words)
    assert up.returncode == 0, up.stderr
    try:
        yield up.stdout.strip()
    finally:
        down = run_command(place, "cluster", "down", "--engine", engine)
    assert down.returncode == 0, down.stderr
    below = str(place / "clusters")
    left = [
        p for p in psutil.process_iter(["cmdline"]) if below in " ".join(p.info["cmdline"] or ())
    ]
    assert left == []
    assert not (place / "clusters" / engine).exists()
