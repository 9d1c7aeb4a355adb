"""Inspects the machine before and after each trial, for conditions that make its numbers doubtful.

A value that cannot be read gives no warning here; `lab doctor` reports it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamlab.lab.host import processor
from streamlab.lab.host.machine import Machine
from streamlab.lab.host.processor import Ticks
from streamlab.workloads import control_group

# The load average also counts the lab's own trials of the last minute.
# So a high load average gives a warning only if cores are busy now, while the lab waits.
_BUSY_INTERVAL_S = 0.1
_MAX_LOAD_PER_CORE = 0.5
_MAX_BUSY_CORES = 0.25
# Gates detect effects of one per cent; a hypervisor's housekeeping takes far less.
_MAX_STOLEN = 0.01
# On an idle machine two measurements differ by a tenth. Times within and between clusters of cores differ severalfold.
_MAX_MOVED = 2.0
_WAIT_S, _MAX_WAITS = 0.5, 120  # a minute in total
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """State of the machine at one moment.

    Attributes:
        warnings: texts about conditions that make numbers doubtful, with the measured value.
        core_to_core_ns: transfer time of a cache line between the usable cores that are furthest apart; None
            with one core, infinite after a timeout.
        ticks, throttled: counters since boot, for the next inspection.
    """

    loadavg: float | None
    warnings: tuple[str, ...]
    core_to_core_ns: float | None = None
    ticks: Ticks | None = None
    throttled: int | None = None

    def is_within(self, within_ns: float) -> bool:
        """Return whether all usable cores are within `within_ns` of each other; True for one core."""
        return self.core_to_core_ns is None or self.core_to_core_ns <= within_ns

    def has_moved(self, since: "MachineState") -> bool:
        """Return whether the hypervisor has moved the cores since an earlier state.

        False if one of the two measurements timed out.
        """
        before_ns, after_ns = since.core_to_core_ns, self.core_to_core_ns
        if before_ns is None or after_ns is None or math.inf in (before_ns, after_ns):
            return False
        return max(before_ns, after_ns) > _MAX_MOVED * min(before_ns, after_ns)


def inspect_machine(
    since: MachineState | None = None, machine: Machine | None = None
) -> MachineState:
    """Inspect the machine; call it while no trial runs.

    Takes some ten milliseconds, or 0.1 s if the load average is high.
    With an earlier state, also warns about stolen time, throttling and moved cores since then.
    """
    machine = machine or Machine()
    usable = machine.affinity()
    load = processor.read_load_average(machine)
    ticks, throttled = processor.read_ticks(machine), processor.count_throttling(machine)
    warnings = [*_state_warnings(machine, usable, load)]
    if since is not None:
        warnings += _change_warnings(since, ticks, throttled)
    distance_ns = machine.core_to_core()
    current = MachineState(
        loadavg=load,
        warnings=tuple(warnings),
        core_to_core_ns=distance_ns,
        ticks=ticks,
        throttled=throttled,
    )
    if since is None or not current.has_moved(since):
        return current
    moved_warning = (
        f"cores were {since.core_to_core_ns:.0f} ns apart before the trial and {distance_ns:.0f} ns "
        "after it: the host moved them"
    )
    return replace(current, warnings=(*current.warnings, moved_warning))


def await_near(within_ns: float, machine: Machine | None = None) -> str | None:
    """Wait up to a minute until the cores are within `within_ns` of each other.

    A hypervisor moves a guest's cores every few seconds or minutes, often while they sleep.
    Returns a warning if the cores do not come near in time.
    """
    machine = machine or Machine()
    distance_ns = machine.core_to_core()
    for _ in range(_MAX_WAITS):
        if distance_ns is None or distance_ns <= within_ns:
            return None
        machine.pause(_WAIT_S)
        distance_ns = machine.core_to_core()
    return (
        f"cores were {distance_ns:.0f} ns apart (inf: stalled) when the trial began, after a minute's "
        f"waiting for cores_within_ns = {within_ns:g}"
    )


def _state_warnings(machine: Machine, usable: int, load: float | None) -> Iterator[str]:
    """Yield warnings about the present state: frequency, SMT, number of cores, other load, swap."""
    governors = processor.read_governors(machine)
    if governors and governors != ("performance",):
        yield f"governor is {', '.join(governors)}, not performance: the frequency follows the load"
    turbo = processor.read_turbo(machine)
    if turbo is not None and turbo.on:
        yield "turbo is on: speed varies with heat"
    if processor.is_smt_switched_on(machine) or processor.has_sibling_threads(machine):
        yield "SMT is on: neighbouring threads share a core's units"
    present = processor.count_cores(machine)
    if usable < present:
        yield f"the lab may use {usable} of {present} cores"
    quota = control_group.cpu_quota(machine.text)
    if quota is not None and quota < usable:
        yield f"a control group limits {usable} cores to {quota:g} cores' time: trials are throttled"
    busy_cores = None if load is None else _busy_cores(machine, usable, load)
    if busy_cores is not None and busy_cores > _MAX_BUSY_CORES:
        # `reports.scaling` searches stored rows for "busy beside the lab".
        yield f"load average {load:.2f} on {usable} cores, and {busy_cores:.1f} cores busy beside the lab"
    sizes = processor.read_memory_sizes(machine)
    swap = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
    if swap >= _MIB:
        yield f"{swap / _MIB:.0f} MiB of swap in use"


def _busy_cores(machine: Machine, usable: int, load: float) -> float | None:
    """Return how many cores are busy now, if the load average is high; None if it is not."""
    if load <= _MAX_LOAD_PER_CORE * usable:
        return None
    before = processor.read_ticks(machine)
    machine.pause(_BUSY_INTERVAL_S)
    after = processor.read_ticks(machine)
    if before is None or after is None or after.total <= before.total:
        return None
    cores = processor.count_cores(machine) or usable
    return cores * (after.busy - before.busy) / (after.total - before.total)


def _change_warnings(
    since: MachineState, ticks: Ticks | None, throttled: int | None
) -> Iterator[str]:
    """Yield warnings about what happened since an earlier state: stolen time and throttling."""
    if since.ticks is not None and ticks is not None and ticks.total > since.ticks.total:
        share = (ticks.stolen - since.ticks.stolen) / (ticks.total - since.ticks.total)
        if share > _MAX_STOLEN:
            yield f"{share:.1%} of the cores' time went to other guests of the hypervisor"
    if since.throttled is not None and throttled is not None and throttled > since.throttled:
        yield f"heat slowed the processor {throttled - since.throttled} times"
