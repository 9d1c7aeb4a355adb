"""Engines give windows of arrival time, each row once in the windows of the time at which it was handed over."""

import numpy as np
import pytest

from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.engines.errors import UnsupportedError
from streamlab.engines.fake.adapter import FakeEngine
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.reference.adapter import PreparedReference, ReferenceEngine
from streamlab.engines.small_dataset import write_dataset
from streamlab.lab.judge.invariants import Arrivals, violated_invariant
from streamlab.lab.judge.verify import verify_arrivals
from streamlab.lab.load.schedule import offer
from streamlab.lab.load.spec import POISSON, LoadSpec
from streamlab.workloads.registry import workload
from tests.engines.clock import FakeClock, load_of
from tests.engines.tasks import assert_equal, run_task, task_of
from tests.workloads.declarative.arrival_workloads import (
    MS,
    answer_at,
    arrival_windows,
    dataset_of,
)
from tests.workloads.declarative.declared_runs import random_rides
from tests.workloads.suite.streams import generated

LOAD = LoadSpec(arrival=POISSON, rate_eps=3_000, warm_up_s=0.02, window_s=0.1)
HOUR_NS = 3_600_000 * MS


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    subject = arrival_windows()
    return subject, dataset_of(subject, tmp_path_factory.mktemp("arrivals"))


def test_the_reference_takes_a_row_into_the_windows_of_the_time_at_which_it_takes_it(case):
    subject, dataset = case
    dataset = dataset.flushed(subject.program)
    data = dataset.load()
    due_ns = np.arange(data.events) * 7 * MS
    pacer = FakeClock().pacer
    prepared = PreparedReference(subject.program, data, load_of([due_ns]), pacer=pacer)
    prepared.run()
    expected = answer_at(subject, dataset, due_ns)
    assert_equal(expected, prepared.answer(), subject.output)


@pytest.mark.parametrize(
    ("engine", "variant", "workers"),
    [
        (ReferenceEngine, "sequential", 1),
        (MulticoreEngine, "vsn", 1),
        (MulticoreEngine, "vsn", 3),
        (MulticoreEngine, "sn", 2),
        (MulticoreEngine, "sn-map", 2),
    ],
)
def test_all_invariants_hold_under_a_load(engine, variant, workers, tmp_path):
    subject = arrival_windows(random_rides(2))
    offered = offer(LOAD, dataset_of(subject, tmp_path), program=subject.program)
    task = task_of(
        subject,
        offered.dataset,
        tmp_path,
        variant,
        workers=workers,
        batch=64,
        load=offered.load,
    )
    measured, answer = run_task(engine(), task)
    assert measured.events == offered.dataset.events
    problem = violated_invariant(
        subject.declaration.step,
        subject.declaration.keys,
        answer,
        subject.oracle(offered.dataset.load()),
        Arrivals(due_ns=offered.load.due_ns[0], end_ns=HOUR_NS, tick_ns=MS),
    )
    assert problem is None
    assert int(answer["ts"][-1]) * MS >= int(offered.load.due_ns[0][-1]), "event times are gone"


@pytest.mark.parametrize(
    ("engine", "variant"),
    [
        (ReferenceEngine, "sequential"),
        (MulticoreEngine, "vsn"),
        (FakeEngine, "correct"),
    ],
)
def test_at_full_speed_no_rate_says_when_rows_arrive(engine, variant, case, tmp_path):
    with pytest.raises(UnsupportedError, match="offer a load"):
        engine().prepare(task_of(*case, tmp_path, variant))


@pytest.mark.parametrize(
    ("engine", "variant"), [(MulticoreEngine, "layers"), (DataframeEngine, "numpy")]
)
def test_other_variants_say_that_they_set_no_arrival_times(engine, variant, case, tmp_path):
    task = task_of(*case, tmp_path, variant, load=load_of([np.zeros(1, dtype=np.int64)]))
    with pytest.raises(UnsupportedError, match="does not run arrivals: its source cannot set"):
        engine().prepare(task)


@pytest.mark.parametrize("workers", [1, 2])
def test_bids_of_nexmark_count_once_in_the_window_of_their_arrival(workers, tmp_path):
    subject = workload("nexmark_q12").bound({"size_ms": 20})
    dataset = write_dataset(generated(subject, {}, 2000, seed=1), subject.name, tmp_path)
    offered = offer(
        LoadSpec(rate_eps=10_000, warm_up_s=0.02, window_s=0.1), dataset, program=subject.program
    )
    task = task_of(
        subject, offered.dataset, tmp_path, "vsn", workers=workers, load=offered.load, batch=64
    )
    _, answer = run_task(MulticoreEngine(), task)
    totals = subject.oracle(offered.dataset.load())
    due_ns = np.sort(np.concatenate(offered.load.due_ns))
    arrivals = Arrivals(due_ns=due_ns, end_ns=HOUR_NS, tick_ns=MS)
    assert verify_arrivals(subject, answer, totals, arrivals).difference is None
    assert len(np.unique(answer["ts"])) > 1
    answer["bids"][0] += 1
    assert "bids (count)" in verify_arrivals(subject, answer, totals, arrivals).difference
