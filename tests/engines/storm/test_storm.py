"""Storm: right with both layers, in order, and nothing left behind.

A case starts a Java process and a local cluster, eight seconds of processor time, so `make test` takes two cases.
"""

import os
import signal
from dataclasses import replace

import numpy as np
import psutil
import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.storm.adapter import StormEngine
from streamlab.engines.storm.build import storm_version
from streamlab.engines.storm.files import RECORD, answer
from streamlab.engines.storm.progress import read_progress
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import check_task, task_of
from tests.workloads.datasets.files import imported, real

WORKLOADS = ("linear_road_pos_rep", "linear_road_new_seg")
LAYERS = ("communication", "operator")
QUICK = {"warm_up_events": 0, "heap_mb": 256}
needs_storm = requires_environment(StormEngine)


@pytest.fixture(autouse=True)
def java_that_starts_fast(monkeypatch):
    """As for Spark (tests/conftest.py): the second compiler costs more than it gives in seconds."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


def setting(determinism, **options):
    return Setting(
        variant="layers", workers=2, options={**QUICK, "determinism": determinism, **options}
    )


@needs_storm
@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("determinism", LAYERS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_storm_conforms(name, determinism, case, tmp_path):
    found = run_case(StormEngine(), workload(name), case, setting(determinism), tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@needs_storm
@pytest.mark.some(1)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("determinism", LAYERS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_real_records_are_answered_as_the_oracle_says(name, determinism, workers, tmp_path):
    file = real("linearroad/lrb-data-small-ht.txt.xz")
    catalog = Catalog(root=tmp_path / "datasets")
    data = imported(catalog, "linear-road", file, streams=3)
    options = {**QUICK, "determinism": determinism}
    task = task_of(name, data, tmp_path, "layers", workers=workers, options=options)
    measured, found = check_task(StormEngine(), task)
    assert (np.diff(found["ts"]) >= 0).all()
    assert measured.latency.counts.sum() == len(found["ts"])
    counts = measured.progress
    assert (counts.emitted.sum(), counts.consumed.sum()) == (task.dataset.events,) * 2
    assert counts.outputs.sum() == len(found["ts"])
    assert counts.latency_max_ns.max() <= measured.latency.values_ns[-1]
    mergers = 0 if determinism == "communication" else workers + (workers if workers > 1 else 0)
    assert measured.counters["threads"] == 3 + 2 * workers + mergers


@needs_storm
@pytest.mark.parametrize(
    "determinism", ["communication", pytest.param("operator", marks=pytest.mark.full)]
)
def test_a_warm_up_leaves_no_state(determinism, tmp_path):
    chosen = setting(determinism, warm_up_events=1000)
    found = run_case(StormEngine(), workload("linear_road_new_seg"), CASES[0], chosen, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@needs_storm
@pytest.mark.some(1)
@pytest.mark.parametrize("determinism", LAYERS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_records_dealt_in_turn_through_full_channels_are_in_order(
    name, determinism, tmp_path, monkeypatch
):
    smallest = "-XX:TieredStopAtLevel=1 -Dstorm.options=topology.executor.receive.buffer.size=8"
    monkeypatch.setenv("JDK_JAVA_OPTIONS", smallest)
    chosen = setting(determinism, dealing="turn")
    found = run_case(StormEngine(), workload(name), CASES[0], chosen, tmp_path)
    assert (found.unsupported, found.problems) == (None, ())


@needs_storm
def test_a_java_process_that_dies_is_a_crash_and_leaves_nothing(tmp_path):
    data = ordinary_input(workload(WORKLOADS[0]))
    task = task_of(WORKLOADS[0], data, tmp_path, "layers", options=QUICK)
    prepared = StormEngine().prepare(task)
    try:
        (java,) = (child for child in psutil.Process().children() if child.name() == "java")
        os.kill(java.pid, signal.SIGKILL)
        with pytest.raises(EngineCrashError, match="process of storm ended with code -9"):
            prepared.run()
    finally:
        prepared.close()
    assert not java.is_running()


def test_counts_over_time_are_read_with_the_percentiles_of_each_step(tmp_path):
    steps = np.zeros((3, 4 + 488), dtype="<i8")
    steps[:, :4] = [(7, 0, 0, 0), (0, 5, 4, 40), (0, 2, 1, 9)]
    # 8, 9, 21 and 40 ns in buckets of 8, 9, 20 to 21 and 40 to 43 ns.
    steps[1, [4 + 8, 4 + 9, 4 + 18, 4 + 26]] = 1
    steps[2, 4 + 9] = 1
    steps.tofile(tmp_path / "steps")
    found = read_progress(tmp_path / "steps")
    assert found.emitted.tolist() == [7, 0, 0]
    assert found.consumed.tolist() == [0, 5, 2]
    assert found.outputs.tolist() == [0, 4, 1]
    assert found.latency_p50_ns.tolist() == [-1, 9, 9]
    assert found.latency_p99_ns.tolist() == [-1, 40, 9]
    assert found.latency_max_ns.tolist() == [-1, 40, 9]


def test_times_that_no_order_of_64_bits_holds_are_refused(tmp_path):
    data = ordinary_input(workload(WORKLOADS[0]))
    first = data.streams[0]
    far = replace(first, ts=np.append(first.ts[:-1], 1 << 62))
    data = replace(data, streams=(far, *data.streams[1:]))
    task = task_of(WORKLOADS[0], data, tmp_path, "layers", options=QUICK)
    with pytest.raises(UnsupportedError, match="at most 2\\*\\*61 ms"):
        StormEngine().start(task)


def test_a_record_that_reached_its_sink_late_stays_late():
    early, late = np.zeros(2, dtype=RECORD), np.zeros(3, dtype=RECORD)
    early["ts"] = [2, 7]
    late["ts"] = [5, 1, 6]
    assert answer([early, late])["ts"].tolist() == [2, 5, 1, 6, 7]


def test_the_version_is_that_of_the_jars(tmp_path):
    assert storm_version(tmp_path) == "storm -"
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "storm-server-2.8.2.jar").touch()
    assert storm_version(tmp_path) == "storm 2.8.2"
