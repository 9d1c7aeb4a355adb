"""The energy counters of this machine, if it has any."""

import math
import time

import pytest

from streamlab.lab.measure.energy.choose import NONE, by_name, choose
from streamlab.lab.measure.energy.recorder import EnergyRecorder


def measured(provider, work):
    with EnergyRecorder(provider) as recorder:
        recorder.mark()
        start_ns = time.monotonic_ns()
        while time.monotonic_ns() - start_ns < 2 * 10**9:
            work()
        recorder.mark()
        end_ns = time.monotonic_ns()
    return recorder.columns(start_ns, end_ns, events=1)


def test_a_busy_core_takes_more_power_than_an_idle_one():
    choice = choose()
    if choice.name == NONE:
        pytest.skip(f"SKIPPED: no energy counter on this machine: {choice.reason}")
    provider = by_name(choice.name)
    idle = measured(provider, lambda: time.sleep(0.05))
    busy = measured(provider, lambda: [math.sqrt(i) for i in range(10_000)])
    assert busy["power_w"] > idle["power_w"] > 0, (idle, busy)
