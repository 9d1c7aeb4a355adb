"""What the kernel says of the processor: bare values, None or empty where they cannot be read.

The doctor turns them into findings, and each trial's look at the machine into warnings.
"""

from dataclasses import dataclass

from streamlab.lab.host.machine import Machine

CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turbo:
    """Whether the frequency may exceed the nominal one; the file that says so; its text for off."""

    on: bool
    path: str
    off_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Time of all cores together since boot, in the kernel's ticks.

    Attributes:
        busy: user, system, interrupts.
        stolen: a hypervisor gave the core to another guest while this one wanted it.
        total: both, and idle time.
    """

    busy: int
    stolen: int
    total: int


def present(machine: Machine) -> int:
    """Return how many cores there are; 0 when that cannot be read."""
    return len(machine.glob(f"{CPU}/cpu[0-9]*"))


def governors(machine: Machine) -> tuple[str, ...]:
    """Return the frequency governors in use, sorted."""
    paths = machine.glob(f"{CPU}/cpu*/cpufreq/scaling_governor")
    return tuple(sorted({text for path in paths if (text := machine.text(path))}))


def turbo(machine: Machine) -> Turbo | None:
    """Return whether the frequency may exceed the nominal one, as heat and neighbours allow."""
    intel = f"{CPU}/intel_pstate/no_turbo"
    generic = f"{CPU}/cpufreq/boost"  # AMD and acpi-cpufreq
    # The two files mean opposite things: 1 in no_turbo is off, 1 in boost is on.
    for path, on, off in ((intel, "0", "1"), (generic, "1", "0")):
        state = machine.text(path)
        if state in (on, off):
            return Turbo(on=state == on, path=path, off_text=off)
    return None


def smt_by_switch(machine: Machine) -> bool:
    """Return whether the kernel's own switch says that hardware threads share cores."""
    return machine.text(f"{CPU}/smt/active") == "1"


def smt_by_topology(machine: Machine) -> bool:
    """Return whether any core lists a sibling thread."""
    siblings = {
        machine.text(path) for path in machine.glob(f"{CPU}/cpu*/topology/thread_siblings_list")
    }
    return any(group and ("," in group or "-" in group) for group in siblings)


def load_average(machine: Machine) -> float | None:
    """Return the load average of the last minute."""
    words = (machine.text("/proc/loadavg") or "").split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


def ticks(machine: Machine) -> Ticks | None:
    """Return how the cores have spent their time."""
    words = (machine.text("/proc/stat") or "").partition("\n")[0].split()
    if words[:1] != ["cpu"] or len(words) < 9 or not all(word.isdigit() for word in words[1:9]):
        return None
    # Guest time (two further fields) is part of user time already.
    user, nice, system, idle, waiting, hard, soft, stolen = map(int, words[1:9])
    busy = user + nice + system + hard + soft
    return Ticks(busy=busy, stolen=stolen, total=busy + stolen + idle + waiting)


def throttled(machine: Machine) -> int | None:
    """Return how often heat has slowed cores and packages since boot, None when not told."""
    paths = machine.glob(f"{CPU}/cpu*/thermal_throttle/*_throttle_count")
    counts = [int(text) for path in paths if (text := machine.text(path)) and text.isdigit()]
    return sum(counts) if counts else None
