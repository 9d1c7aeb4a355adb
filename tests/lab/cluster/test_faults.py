"""Faults of a real cluster: the answer is right, and the row says what the fault cost."""

from pathlib import Path

import pytest

from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.lab.cluster.fault import CUT, KILL, Fault, parse_fault
from streamlab.lab.cluster.fault_injector import refusal
from streamlab.lab.trial.timed_part import KILLED
from streamlab.results.schema import TrialRow
from streamlab.results.store import read_run
from tests.engines.separate_environment import requires_environment
from tests.lab.cluster.commands import ROOT_ONLY, cluster, run_command

MATRIX = """
[[workload]]
name = "event_window"
events = {events}

[[engine]]
name = "{engine}"
variants = ["{variant}"]
workers = [2]
label = "broken"
fault = "{fault}"
timeout_s = 300
options = {{ {options} }}
"""
SPARK = 'warm_up_rounds = 0, master = "{address}"'
FLINK = 'checkpoint_ms = 500, jobmanager = "{address}"'


def run_broken(
    place: Path, fault: str, events: int, *, engine: str, variant: str, options: str
) -> TrialRow:
    """Run a workload with a fault, and return its row."""
    matrix = place / "matrix.toml"
    keys = {"engine": engine, "variant": variant, "fault": fault, "options": options}
    matrix.write_text(MATRIX.format(events=events, **keys))
    done = run_command(place, "run", str(matrix))
    assert done.stdout, done.stderr
    (row,) = read_run(Path(done.stdout.splitlines()[-1])).rows
    return row


@pytest.mark.full
@pytest.mark.parametrize(
    ("engine", "variant", "options"),
    [
        pytest.param("spark", "batch", SPARK, marks=pytest.mark.spark),
        pytest.param(
            *("spark", "streaming", f"{SPARK}, micro_batches = 12"), marks=pytest.mark.spark
        ),
        pytest.param(
            *("spark", "native-streaming", f"{SPARK}, micro_batches = 12"), marks=pytest.mark.spark
        ),
        pytest.param("flink", "automatic", FLINK, marks=requires_environment(FlinkEngine)),
    ],
)
def test_a_worker_killed_in_a_run_costs_time_and_no_answer(
    engine, variant, options, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_SHARED", str(tmp_path))
    with cluster(tmp_path, engine) as address:
        row = run_broken(
            *(tmp_path, "kill worker after 0.5 s", 20_000_000),
            engine=engine,
            variant=variant,
            options=options.format(address=address),
        )
        status = run_command(tmp_path, "cluster", "status").stdout
    assert (row.status, row.reason, row.fault) == ("ok", KILLED, "kill worker after 0.5 s")
    assert row.recovery_s is None or 0.1 < row.recovery_s < row.duration_s
    assert (row.cpu_s, row.peak_rss_bytes) == (None, None)
    assert "2 of 2 workers" in status


@pytest.mark.full
@pytest.mark.spark
@ROOT_ONLY
def test_a_network_that_is_cut_for_seconds_costs_time_and_no_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_SHARED", str(tmp_path))
    with cluster(tmp_path, "spark", "--network", "namespaces") as address:
        row = run_broken(
            *(tmp_path, "cut network after 0.5 s for 3 s", 20_000_000),
            engine="spark",
            variant="batch",
            options=SPARK.format(address=address),
        )
    assert (row.status, row.fault) == ("ok", "cut network after 0.5 s for 3 s")
    assert row.duration_s > 3
    assert row.cpu_s > 0


@pytest.mark.full
@pytest.mark.spark
def test_a_run_that_ends_before_its_fault_is_invalid(tmp_path):
    with cluster(tmp_path, "spark") as address:
        row = run_broken(
            *(tmp_path, "kill worker after 1000 s", 2_000),
            engine="spark",
            variant="batch",
            options=SPARK.format(address=address),
        )
    assert row.status == "invalid"
    assert "before the fault at 1000 s; give a longer input or an earlier fault" in row.reason
    assert row.throughput_eps is None
    assert row.recovery_s is None


def test_a_fault_needs_a_cluster_that_the_lab_started(tmp_path):
    row = run_broken(
        *(tmp_path, "kill worker after 1 s", 2_000),
        engine="spark",
        variant="batch",
        options=SPARK.format(address="spark://elsewhere:7077"),
    )
    assert row.status == "unsupported"
    assert row.reason == (
        "fault: master is spark://elsewhere:7077; expected the address of a cluster that the lab started: "
        "lab cluster up --engine spark"
    )
    kill = Fault(action=KILL, after_s=1.0)
    assert refusal(kill, "reference", {}) == (
        "fault: engine reference has no clusters that the lab can start"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kill worker after 3 s", Fault(action=KILL, after_s=3.0)),
        ("cut network after 0.5 s for 2 s", Fault(action=CUT, after_s=0.5, for_s=2.0)),
        ("kill worker after 3 s for 2 s", None),
        ("cut network after 3 s", None),
        ("kill worker after 3", None),
        ("kill worker after -1 s", None),
        ("", None),
    ],
)
def test_a_fault_reads_from_its_text(text, fault):
    assert parse_fault(text) == fault


def test_a_wrong_fault_is_named_with_right_ones(tmp_path):
    keys = {"engine": "spark", "variant": "batch", "options": ""}
    (tmp_path / "m.toml").write_text(MATRIX.format(events=1, fault="kill all", **keys))
    done = run_command(tmp_path, "run", str(tmp_path / "m.toml"))
    assert done.returncode == 2
    assert (
        "[[engine]] 1, key fault is 'kill all'; expected "
        '"kill worker after 3 s" or "cut network after 3 s for 2 s"'
    ) in done.stderr
