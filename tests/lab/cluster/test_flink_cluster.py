"""A session cluster of Flink runs tasks that are verified, and survives the loss of a task manager."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.session import read
from streamlab.results.store import read_run
from streamlab.workloads.datasets.builder import generate_input
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import assert_equal, task_of
from tests.lab.cluster.commands import LAB, ROOT_ONLY, cluster, run_command, run_row

pytestmark = [pytest.mark.spark, requires_environment(FlinkEngine)]

DECLARED = """
import numpy as np
import streamlab as lab


def rides(events, seed):
    chance = np.random.default_rng(seed)
    return {
        "ts": np.sort(chance.integers(0, 100_000, events)),
        "station": chance.integers(0, 9, events),
        "minutes": chance.random(events),
    }


by_station = lab.window(
    "1 s",
    key="station",
    input=rides,
    result={"rides": lab.count(), "minutes": lab.sum("minutes")},
    name="by_station",
)
"""
WORDS = ("--query", "wa_ms=100", "--query", "ws_ms=200")
"""Of windows that 20,000 tweets close."""


def run_flink(place, jobmanager, *words, query="event_window"):
    """Run a workload on a cluster of Flink and return its row."""
    options = ("--option", f"flink.jobmanager={jobmanager}", "--option", "flink.warm_up_rounds=0")
    return run_row(place, "--engine", "flink", *options, *words, query=query)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def jobmanager(place):
    """The address of a cluster of two task managers with a slot each."""
    with cluster(place, "flink") as address:
        yield address


def check(row):
    """Check that a row's answer is right, and that it ran on both task managers, which were observed."""
    assert (row.status, row.reason) == ("ok", None)
    assert (row.cluster, row.nodes, row.node_cores) == ("flink session", 2, "1, 1")
    assert row.peak_rss_bytes > 2 * 1000 << 20


def test_a_program_on_two_task_managers_is_verified_and_its_row_says_where_it_ran(
    place, jobmanager
):
    check(run_flink(place, jobmanager))
    status = run_command(place, "cluster", "status").stdout
    assert status == f"flink  {jobmanager}  2 of 2 workers, 2 cores, 0 applications\n"


def test_a_task_with_more_workers_than_the_cluster_has_is_refused(place, jobmanager):
    row = run_flink(place, jobmanager, "-w", "3")
    assert row.status == "crash"
    assert "has 2 slots on 2 task managers, and the task needs 3" in row.reason


@pytest.mark.full
def test_a_task_that_is_closed_before_its_clock_starts_frees_its_slots(jobmanager, tmp_path):
    data = ordinary_input(workload("event_window"))
    options = {"jobmanager": jobmanager, "warm_up_rounds": 0}
    task = task_of("event_window", data, tmp_path, "automatic", workers=2, options=options)
    prepared = FlinkEngine().prepare(task)
    assert read(jobmanager, "overview")["slots-available"] == 0
    prepared.close()
    assert read(jobmanager, "overview")["slots-available"] == 2


@pytest.mark.full
@pytest.mark.parametrize("query", ["keyed_counter", "page_view_join", "fraud_detection"])
def test_further_programs_are_verified(query, place, jobmanager):
    check(run_flink(place, jobmanager, query=query))


@pytest.mark.full
def test_windows_of_words_are_verified_on_a_shared_folder(place, jobmanager, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SHARED", str(tmp_path))
    check(run_flink(place, jobmanager, *WORDS, query="wordcount"))
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.full
def test_generated_sql_with_checkpoints_is_verified(place, jobmanager, tmp_path):
    (tmp_path / "rides.py").write_text(DECLARED)
    words = ("--option", "flink.checkpoint_ms=50", "--option", "flink.state=rocksdb")
    check(run_flink(place, jobmanager, *words, query=f"{tmp_path / 'rides.py'}:by_station"))


@pytest.mark.full
@ROOT_ONLY
def test_a_folder_that_task_managers_do_not_see_is_named(place, jobmanager):
    hidden = place / "temporary"
    hidden.mkdir()
    words = f"run event_window --events 20000 -w 2 --engine flink --option flink.jobmanager={jobmanager}"
    folders = {f"LAB_{name.upper()}": str(place / name) for name in ("runs", "data")}
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {hidden} && exec {LAB} {words}"],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | folders | {"TMPDIR": str(hidden)},
        check=False,
    )
    (row,) = read_run(Path(done.stdout.splitlines()[-1])).rows
    assert row.status == "crash"
    assert f"does not see {hidden}" in row.reason
    assert "set LAB_SHARED" in row.reason


@pytest.mark.full
@ROOT_ONLY
@pytest.mark.parametrize("query", ["event_window", "page_view_join"])
def test_task_managers_in_network_namespaces_are_reached(query, tmp_path):
    with cluster(tmp_path, "flink", "--network", "namespaces") as address:
        check(run_flink(tmp_path, address, query=query))
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert "lab-flink" not in left.stdout


def checkpoints(jobmanager: str, job: str, kind: str) -> int:
    """Return how many checkpoints of a job are `completed` or `restored`."""
    return read(jobmanager, f"jobs/{job}/checkpoints")["counts"][kind]


@pytest.mark.full
@pytest.mark.parametrize("query", ["event_window", "keyed_counter"])
def test_a_task_manager_that_dies_is_replaced_and_nothing_is_lost_or_twice(
    query, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_CLUSTERS", str(tmp_path / "clusters"))
    subject = workload(query)
    # Several seconds of work, in which a checkpoint completes.
    data = generate_input(subject, subject.params({}), 10_000_000, seed=1)
    with cluster(tmp_path, "flink", "--workers", "3") as jobmanager:
        options = {"jobmanager": jobmanager, "checkpoint_ms": 100, "warm_up_rounds": 0}
        task = task_of(query, data, tmp_path, "automatic", workers=2, options=options)
        with closing(FlinkEngine().prepare(task)) as prepared, ThreadPoolExecutor(1) as pool:
            (job,) = (each["jid"] for each in read(jobmanager, "jobs/overview")["jobs"])
            running = pool.submit(prepared.run)
            begin = checkpoints(jobmanager, job, "completed")
            while checkpoints(jobmanager, job, "completed") < begin + 2:
                pass
            os.kill(prepared.placement().processes[0], signal.SIGKILL)
            assert running.result().events == task.dataset.events
            assert checkpoints(jobmanager, job, "restored") >= 1
            assert_equal(subject.oracle(data), prepared.answer(), subject.output)
