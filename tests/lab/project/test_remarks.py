"""What is said beside predictions, by what they assume."""

import pytest

from lab.project.calibration import Calibration
from lab.project.projection import Setting, project, remarks
from lab.project.simulation import Network
from lab.project.subject import Subject
from workloads.optimizers.request import Costs

SUBJECT = Subject(reference="event_window", events=100_000)
COSTS = Costs(
    update_ns=1, order_ns=0, fork_join_ns=0, handover_ns=0, skip_ns=0, start_ns=0, cores=2
)
NETWORK = Network(latency_ns=1e5, bytes_per_ns=1, header_bytes=78)


def said(cores: int, *, can_grow: bool = True, reads: float = 1e9, bound: float | None = None):
    calibration = Calibration(
        costs=COSTS,
        alone=COSTS,
        lowest=COSTS,
        highest=COSTS,
        switch_ns=0,
        slice_ns=1e6,
        memory_bytes_per_ns=reads,
        processes=1,
        loadavg=0,
    )
    setting = Setting(cores=[cores], machines=[1], network=NETWORK, memory_bytes_per_ns=bound)
    predicted = project(SUBJECT, calibration, setting)
    return " | ".join(remarks(predicted, calibration, setting, can_grow=can_grow))


def test_workers_without_work_are_told_with_the_remedy_that_there_is():
    assert "work for 2 of 36 workers; --grow" in said(36)
    assert said(36, can_grow=False).endswith("work for 2 of 36 workers")
    assert "workers" not in said(2)


def test_reading_more_than_this_machine_does_is_told_unless_it_is_bounded():
    assert "1 core would read 16 GB/s" in said(1, reads=8)
    assert "would read" not in said(1, reads=8, bound=4)
    assert "would read" not in said(1, reads=20)


@pytest.mark.parametrize("cores", [1, 2, 36])
def test_what_is_ignored_is_always_told(cores):
    assert "ignored: caches" in said(cores)
