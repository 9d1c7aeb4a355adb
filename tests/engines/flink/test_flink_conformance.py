"""Flink itself: right on every workload that it has a program for, and nothing left behind.

A case starts a Java process, three seconds of processor time, so `make test` takes two programs and
cases, and one load.
"""

import os
import signal
from dataclasses import replace

import numpy as np
import psutil
import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.flink.adapter import FlinkEngine
from streamlab.engines.flink.workloads import SHAPES
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.runner.launcher import run_trial
from streamlab.lab.trial.spec import EngineTrial
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.separate_environment import requires_environment
from tests.engines.tasks import check_task, task_of

pytestmark = requires_environment(FlinkEngine)

QUICK = {"warm_up_rounds": 0, "heap_mb": 256}
PROGRAMS = [
    (variant.name, name)
    for name in SHAPES
    for variant in FlinkEngine().variants()
    if variant.lacks(workload(name)) is None
]
# What only fills blocks in another way, as they are filled without a load, and what bursts hold.
FILLING = ("a constant load", "a load of one instant", "a load of batch 1",
           "a load of full batches", "a load with ties in event time")  # fmt: skip
LOADS = [
    pytest.param(case, id=case.name, marks=[pytest.mark.full] if case.name in FILLING else [])
    for case in LOAD_CASES
]


@pytest.fixture(autouse=True)
def java_that_starts_fast(monkeypatch):
    """As for Spark (tests/conftest.py): the second compiler costs more than it gives in seconds."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


def setting(variant: str, **options) -> Setting:
    return Setting(variant=variant, workers=2, options={**QUICK, **options})


def check(name, case, folder, chosen: Setting, run=run_case) -> None:
    found = run(FlinkEngine(), workload(name), case, chosen, folder)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.some(2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("variant", "name"), PROGRAMS)
def test_flink_conforms(variant, name, case, tmp_path):
    check(name, case, tmp_path, setting(variant))


@pytest.mark.parametrize("variant", ["automatic", pytest.param("manual", marks=pytest.mark.full)])
def test_a_stream_that_two_sources_read_is_in_order(variant, tmp_path):
    (single,) = [case for case in CASES if case.name == "a single stream"]
    check("event_window", single, tmp_path, setting(variant))


def test_a_flushed_query_gets_its_last_windows(tmp_path):
    subject = workload("wordcount")
    data = ordinary_input(subject)
    flushing = replace(subject, program=replace(subject.program, at_end="flush"))
    task = task_of(flushing, data, tmp_path, "automatic", workers=2, options=QUICK)
    _, answer = check_task(FlinkEngine(), task)
    assert len(answer["ts"]) > len(subject.oracle(data)["ts"])


@pytest.mark.some(1)
@pytest.mark.parametrize("case", LOADS)
@pytest.mark.parametrize(("variant", "name"), PROGRAMS)
def test_flink_conforms_under(variant, name, case, tmp_path):
    check(name, case, tmp_path, setting(variant), run_load_case)


@pytest.mark.parametrize(
    "name", ["page_view_join", pytest.param("wordcount", marks=pytest.mark.full)]
)
def test_state_in_rocksdb_gives_the_same_answer(name, tmp_path):
    check(name, CASES[0], tmp_path, setting("automatic", state="rocksdb"))
    assert (tmp_path / "scratch" / "rocksdb").is_dir()  # which only that store makes


def test_more_map_instances_than_aggregates_give_the_same_answer(tmp_path):
    check("wordcount", CASES[0], tmp_path, setting("automatic", map_instances=3))


@pytest.mark.parametrize(
    "name",
    [
        "event_window",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("wordcount", "forward")),
    ],
)
def test_checkpoints_leave_the_answer_as_it_is(name, tmp_path):
    check(name, CASES[0], tmp_path, setting("automatic", checkpoint_ms=10))
    assert (tmp_path / "scratch" / "checkpoints").is_dir()


@pytest.mark.full
def test_a_service_that_is_called_without_rmi_gives_the_same_answer_after_a_warm_up(tmp_path):
    direct = setting("manual", service="memory", warm_up_rounds=1, warm_up_events=500)
    check("page_view_join", CASES[0], tmp_path, direct)


def test_a_java_process_that_dies_is_a_crash_and_leaves_nothing(tmp_path):
    data = ordinary_input(workload("event_window"))
    task = task_of("event_window", data, tmp_path, "automatic", options=QUICK)
    prepared = FlinkEngine().prepare(task)
    try:
        (java,) = (child for child in psutil.Process().children() if child.name() == "java")
        os.kill(java.pid, signal.SIGKILL)
        with pytest.raises(EngineCrashError, match="ended with code -9"):
            prepared.run()
    finally:
        prepared.close()
    assert not java.is_running()


@pytest.mark.parametrize("variant", ["manual", pytest.param("automatic", marks=pytest.mark.full)])
def test_a_gap_in_event_time_holds_no_source_back(variant, tmp_path):
    # Longer than what one source may be ahead of another: 65,536 events' share of the time. Sources
    # look at each other before every 64 events, so that the gap has to lie there.
    events, far = 64 * 2344 + 1, 10_000_000
    values = np.ones(events, dtype=np.int64)
    times = [
        np.arange(events),
        np.append(np.arange(64), far),
        np.append(np.arange(9_999, events, 10_000), far),
    ]
    times[0][-1] = far
    columns = [{"value": values}, {"value": values[:65]}, {}]
    data = input_of(("value", "barrier"), *zip((0, 0, 1), times, columns, strict=True))
    trial = EngineTrial(
        engine="flink",
        variant=variant,
        workers=2,
        batch=1,
        options=QUICK,
        dataset=write_dataset(data, "event_window", tmp_path / "data"),
    )
    ended = run_trial(trial, log=tmp_path / "log", timeout_s=600)
    assert (ended.columns["status"], ended.columns.get("reason")) == ("ok", None)


def test_an_engine_that_cannot_have_its_heap_says_so(tmp_path):
    huge = setting("automatic", heap_mb=1 << 30)
    with pytest.raises(EngineCrashError, match="ended with code 1"):
        run_case(FlinkEngine(), workload("event_window"), CASES[0], huge, tmp_path)
