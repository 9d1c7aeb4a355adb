"""A look at the machine before and after each trial: what makes its numbers doubtful.

What cannot be read is no warning: the doctor says once what is not visible; a warning here says
that something is known to be wrong.
"""

import math
from dataclasses import dataclass, replace

from streamlab.lab.host import processor
from streamlab.lab.host.machine import Machine
from streamlab.lab.host.processor import Ticks
from streamlab.workloads import control_group

# A load average also counts what the lab itself ran in the last minute; so it is believed only
# when something runs now, while the lab waits.
_BUSY_LOOK_S = 0.1
_MOST_LOAD_PER_CORE = 0.5
_MOST_BUSY_CORES = 0.25
# One per cent is the effect that a gate wants to see; a hypervisor's housekeeping is far below.
_MOST_STOLEN = 0.01
# Between tries on an idle machine a tenth is usual; between clusters of cores several times.
_MOST_MOVED = 2.0
_WAIT_S, _MOST_WAITS = 0.5, 120
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen at one moment.

    Attributes:
        loadavg: of the last minute; None where it cannot be read.
        warnings: one text for each thing that makes numbers doubtful, with its measured value.
        core_to_core_ns: of a cache line between the usable cores that are furthest apart; None with
            one core, infinite when that was not to be had in time.
        ticks, throttled: counters since boot, for the next look.
    """

    loadavg: float | None
    warnings: tuple[str, ...]
    core_to_core_ns: float | None = None
    ticks: Ticks | None = None
    throttled: int | None = None

    def near(self, within_ns: float) -> bool:
        """Tell whether the cores are so close to each other; one core is."""
        return self.core_to_core_ns is None or self.core_to_core_ns <= within_ns

    def moved(self, since: "Look") -> bool:
        """Tell whether a hypervisor has put a guest's cores elsewhere since an earlier look.

        Not known, and so not told, where one of the looks was stalled.
        """
        before_ns, after_ns = since.core_to_core_ns, self.core_to_core_ns
        if before_ns is None or after_ns is None or math.inf in (before_ns, after_ns):
            return False
        return max(before_ns, after_ns) > _MOST_MOVED * min(before_ns, after_ns)


def look(since: Look | None = None, machine: Machine | None = None) -> Look:
    """Look at the machine; call it while no trial runs.

    Takes 0.1 s when the load average is high, and some ten milliseconds otherwise.

    Args:
        since: an earlier look: stolen time and throttling since then are told, too.
        machine: the machine; None: this one.
    """
    machine = machine or Machine()
    usable = machine.affinity()
    load = processor.load_average(machine)
    ticks, throttled = processor.ticks(machine), processor.throttled(machine)
    warnings = [
        _governor(machine),
        _turbo(machine),
        _smt(machine),
        _cores(machine, usable),
        _quota(machine, usable),
        _load(machine, usable, load),
        _swap(machine),
    ]
    apart_ns = machine.core_to_core()
    if since is not None:
        warnings += [
            _stolen(since.ticks, ticks),
            _heat(since.throttled, throttled),
        ]
    seen = Look(
        loadavg=load,
        warnings=tuple(text for text in warnings if text is not None),
        core_to_core_ns=apart_ns,
        ticks=ticks,
        throttled=throttled,
    )
    if since is None or not seen.moved(since):
        return seen
    told = (
        f"cores were {since.core_to_core_ns:.0f} ns apart before the trial and {apart_ns:.0f} ns "
        "after it: the host moved them"
    )
    return replace(seen, warnings=(*seen.warnings, told))


def await_near(within_ns: float, machine: Machine | None = None) -> str | None:
    """Wait until the cores are within so many ns of each other; a warning where they do not come.

    A hypervisor moves the cores of a guest every few seconds or minutes, and lets those that have
    slept start elsewhere. Gives up after a minute: the trial is run then all the same.
    """
    machine = machine or Machine()
    apart_ns = machine.core_to_core()
    for _ in range(_MOST_WAITS):
        if apart_ns is None or apart_ns <= within_ns:
            return None
        machine.pause(_WAIT_S)
        apart_ns = machine.core_to_core()
    return (
        f"cores were {apart_ns:.0f} ns apart (inf: stalled) when the trial began, after a minute's "
        f"waiting for cores_within_ns = {within_ns:g}"
    )


def _governor(machine: Machine) -> str | None:
    seen = processor.governors(machine)
    if not seen or seen == ("performance",):
        return None
    return f"governor is {', '.join(seen)}, not performance: the frequency follows the load"


def _turbo(machine: Machine) -> str | None:
    found = processor.turbo(machine)
    return "turbo is on: speed varies with heat" if found is not None and found.on else None


def _smt(machine: Machine) -> str | None:
    if processor.smt_by_switch(machine) or processor.smt_by_topology(machine):
        return "SMT is on: neighbouring threads share a core's units"
    return None


def _cores(machine: Machine, usable: int) -> str | None:
    present = processor.present(machine)
    return f"the lab may use {usable} of {present} cores" if usable < present else None


def _quota(machine: Machine, usable: int) -> str | None:
    quota = control_group.cores(machine.text)
    if quota is None or quota >= usable:
        return None
    return f"a control group limits {usable} cores to {quota:g} cores' time: trials are throttled"


def _load(machine: Machine, usable: int, load: float | None) -> str | None:
    if load is None or load <= _MOST_LOAD_PER_CORE * usable:
        return None
    before = processor.ticks(machine)
    machine.pause(_BUSY_LOOK_S)
    after = processor.ticks(machine)
    if before is None or after is None or after.total <= before.total:
        return None
    cores = processor.present(machine) or usable
    busy = cores * (after.busy - before.busy) / (after.total - before.total)
    if busy <= _MOST_BUSY_CORES:
        return None
    return f"load average {load:.2f} on {usable} cores, and {busy:.1f} cores busy beside the lab"


def _swap(machine: Machine) -> str | None:
    sizes: dict[str, int] = {}
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[0].startswith("Swap") and words[1].isdigit():
            sizes[words[0]] = int(words[1]) * 1024
    used = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
    return f"{used / _MIB:.0f} MiB of swap in use" if used >= _MIB else None


def _stolen(before: Ticks | None, after: Ticks | None) -> str | None:
    if before is None or after is None or after.total <= before.total:
        return None
    share = (after.stolen - before.stolen) / (after.total - before.total)
    if share <= _MOST_STOLEN:
        return None
    return f"{share:.1%} of the cores' time went to other guests of the hypervisor"


def _heat(before: int | None, after: int | None) -> str | None:
    if before is None or after is None or after <= before:
        return None
    return f"heat slowed the processor {after - before} times"
