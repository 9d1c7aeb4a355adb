"""Warnings about the machine, on made-up machines."""

import math
import os
from pathlib import Path

import pytest

from streamlab.lab.host.machine import Machine
from streamlab.lab.measure.machine import await_near, inspect_machine

CPU = "sys/devices/system/cpu"
IDLE = "cpu  100 0 100 10000 0 0 0 0 0 0"


@pytest.fixture
def machine(tmp_path):
    """Makes a machine of these files; a pause writes the next of `later` to /proc/stat."""

    def make(files=None, *, affinity=4, later=(), apart_ns=None):
        for name, text in (files or {}).items():
            path: Path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        stats = iter(later)

        def pause(seconds):
            (tmp_path / "proc/stat").write_text(next(stats) + "\n")

        return Machine(
            root=tmp_path,
            environ={},
            affinity=lambda: affinity,
            pause=pause,
            core_to_core=lambda: apart_ns,
        )

    return make


def test_unreadable_values_give_no_warning(machine):
    seen = inspect_machine(machine=machine())
    assert (seen.loadavg, seen.warnings) == (None, ())


def test_an_idle_tuned_machine_has_no_warning(machine):
    cores = {f"{CPU}/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(4)}
    cores |= {f"{CPU}/cpu{i}/topology/thread_siblings_list": str(i) for i in range(4)}
    files = cores | {
        f"{CPU}/intel_pstate/no_turbo": "1",
        "proc/loadavg": "0.10 0.20 0.30 1/100 1",
        "proc/meminfo": "SwapTotal: 1000 kB\nSwapFree: 1000 kB",
        "proc/stat": IDLE,
        f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "7",
    }
    seen = inspect_machine(machine=machine(files))
    assert (seen.loadavg, seen.warnings) == (0.1, ())
    assert inspect_machine(seen, machine(files)).warnings == ()


@pytest.mark.parametrize(
    ("files", "warning"),
    [
        ({f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"}, "governor is powersave"),
        ({f"{CPU}/cpufreq/boost": "1"}, "turbo is on"),
        ({f"{CPU}/intel_pstate/no_turbo": "0"}, "turbo is on"),
        ({f"{CPU}/smt/active": "1"}, "SMT is on"),
        ({f"{CPU}/cpu0/topology/thread_siblings_list": "0,4"}, "SMT is on"),
        ({f"{CPU}/cpu{i}/online": "1" for i in range(6)}, "may use 4 of 6 cores"),
        (
            {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000"},
            "limits 4 cores to 1.5 cores' time",
        ),
        (
            {"proc/meminfo": "SwapTotal: 8192 kB\nSwapFree: 4096 kB\nSwapCached: 1 kB"},
            "4 MiB of swap in use",
        ),
    ],
)
def test_each_doubt_is_named_with_its_value(machine, files, warning):
    (found,) = inspect_machine(machine=machine(files)).warnings
    assert warning in found


def test_high_load_is_believed_while_something_runs(machine):
    files = {"proc/loadavg": "3.10 1 1 1/1 1", "proc/stat": IDLE}
    busy = "cpu  120 0 100 10020 0 0 0 0 0 0"
    (found,) = inspect_machine(machine=machine(files, later=[busy])).warnings
    assert found == "load average 3.10 on 4 cores, and 2.0 cores busy beside the lab"


def test_high_load_that_the_lab_itself_left_behind_is_no_warning(machine):
    files = {"proc/loadavg": "3.10 1 1 1/1 1", "proc/stat": IDLE}
    seen = inspect_machine(machine=machine(files, later=["cpu  100 0 100 10040 0 0 0 0 0 0"]))
    assert (seen.loadavg, seen.warnings) == (3.1, ())


def test_stolen_time_and_heat_are_reported_since_the_earlier_look(machine):
    throttle = f"{CPU}/cpu0/thermal_throttle/package_throttle_count"
    first = inspect_machine(machine=machine({"proc/stat": IDLE, throttle: "7"}))
    files = {"proc/stat": "cpu  150 0 100 10000 0 0 0 50 0 0", throttle: "9"}
    assert inspect_machine(first, machine(files)).warnings == (
        "50.0% of the cores' time went to other guests of the hypervisor",
        "heat slowed the processor 2 times",
    )


@pytest.mark.parametrize(
    ("before_ns", "after_ns", "moved"),
    [
        (40.0, 79.0, False),
        (40.0, 250.0, True),
        (250.0, 40.0, True),
        (None, 40.0, False),
        (math.inf, 40.0, False),
    ],
)
def test_cores_that_the_host_moved_are_reported(machine, before_ns, after_ns, moved):
    first = inspect_machine(machine=machine(apart_ns=before_ns))
    seen = inspect_machine(first, machine(apart_ns=after_ns))
    assert seen.core_to_core_ns == after_ns
    assert (len(seen.warnings) == 1) == moved
    if moved:
        (warning,) = seen.warnings
        assert warning.startswith(f"cores were {before_ns:.0f} ns apart before the trial and")


def test_a_trial_waits_until_the_cores_are_near_but_not_for_ever():
    seen, pauses = iter([250.0, 240.0, 40.0]), []
    near = Machine(core_to_core=lambda: next(seen), pause=pauses.append)
    assert await_near(100.0, near) is None
    assert len(pauses) == 2
    assert await_near(100.0, Machine(core_to_core=lambda: None)) is None  # one core
    far = Machine(core_to_core=lambda: 250.0, pause=pauses.append)
    assert await_near(100.0, far) == (
        "cores were 250 ns apart (inf: stalled) when the trial began, after a minute's waiting for "
        "cores_within_ns = 100"
    )
    assert sum(pauses) == pytest.approx(61)


def test_this_machine_can_be_looked_at_twice():
    first = inspect_machine()
    if len(os.sched_getaffinity(0)) > 1 and first.core_to_core_ns is not None:
        assert first.core_to_core_ns > 1  # infinite where the cores did not both run for 20 ms
    assert first.loadavg is not None and first.ticks is not None
    second = inspect_machine(first)
    assert second.ticks is not None and second.ticks.total >= first.ticks.total
