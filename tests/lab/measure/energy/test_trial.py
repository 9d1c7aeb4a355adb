"""A real trial records the power of counters that a thread advances at a fixed rate."""

import itertools
import json
import os
import sys
import threading
import time
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.judge.judgement import judge
from streamlab.lab.trial.spec import write_job
from streamlab.workloads.registry import workload
from tests.lab.engine_trial import engine_trial
from tests.lab.measure.energy.namespace import bind_class
from tests.lab.measure.energy.powercap_tree import RANGE_UJ, PowercapTree, sockets

PACKAGE_W, DRAM_W = 20.0, 2.0


@contextmanager
def advance_counters(tree, powers):
    """Advance the counter of every zone at constant watts, from 30 J before it wraps."""
    stop = threading.Event()

    def tick():
        start = time.monotonic()
        while not stop.wait(0.005):
            for zone, watts in powers.items():
                uj = RANGE_UJ - 30_000_000 + int((time.monotonic() - start) * watts * 1e6)
                # In place and in one write, as the kernel does: pyRAPL keeps its files open.
                file = os.open(tree.path(zone), os.O_WRONLY)
                os.pwrite(file, b"%020d\n" % (uj % RANGE_UJ), 0)
                os.close(file)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("provider", ["pyrapl", "powercap"])
def test_the_record_of_a_trial_has_the_power_of_the_counters(tmp_path, provider):
    tree = PowercapTree(tmp_path / "class" / "powercap")
    powers = {}
    for i, socket in enumerate(sockets()):
        tree.zone(f"{i}", f"package-{socket}", 0).zone(f"{i}:0", "dram", 0)
        powers |= {f"{i}": PACKAGE_W, f"{i}:0": DRAM_W}
    data = ordinary_input(workload("event_window"))
    dataset = write_dataset(data, "event_window", tmp_path / "data")
    events = sum(stream.rows for stream in dataset.streams)
    spec = engine_trial(
        options={"capacity_eps": events / 2.0},  # two seconds
        dataset=dataset,
        series=tmp_path / "series.parquet",
        energy=provider,
    )
    write_job(spec, tmp_path / "spec.json")
    command = ["-m", "streamlab.lab.trial", str(tmp_path / "spec.json"), str(tmp_path)]
    with (
        advance_counters(tree, powers),
        bind_class(tmp_path / "class", [sys.executable, *command]) as process,
    ):
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    row = judge(spec, tmp_path, None).columns
    assert row["status"] == "ok", row
    assert row["energy_source"] == provider
    assert row["energy_reason"].startswith("short: ")
    assert row["power_w"] == pytest.approx(len(sockets()) * (PACKAGE_W + DRAM_W), rel=0.1)
    assert row["energy_gross_j"] == pytest.approx(row["power_w"] * row["duration_s"])
    assert row["energy_j_per_1000"] == pytest.approx(row["energy_gross_j"] * 1000 / events)
    assert row["energy_dropped_s"] == 0
    domains = json.loads(row["energy_domains"])
    assert sum(domains.values()) == pytest.approx(row["energy_gross_j"], rel=1e-3)
    series = pq.read_table(tmp_path / "series.parquet")
    (name, *_) = [name for name in series.column_names if name.startswith("energy_package")]
    joules = [value for value in series[name].to_pylist() if value is not None]
    assert all(a <= b for a, b in itertools.pairwise(joules))
    assert joules[-1] - joules[0] > 0.5 * PACKAGE_W
