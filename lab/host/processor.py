"""Reads values about the processor and the memory from the kernel; None or empty if unreadable.

`lab doctor` and the inspections around each trial interpret them.
"""

from dataclasses import dataclass

from streamlab.lab.host.machine import Machine

CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turbo:
    """State of turbo frequencies.

    Attributes:
        on: whether the frequency may exceed the nominal one.
        path: the file that switches turbo on and off.
        off_text: the file's content for off.
    """

    on: bool
    path: str
    off_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Time of all cores since boot, in the kernel's ticks.

    Attributes:
        busy: user, system and interrupt time.
        stolen: time in which the hypervisor ran another guest while this one had work.
        total: busy, stolen and idle time.
    """

    busy: int
    stolen: int
    total: int


def cpu_field(machine: Machine, *names: str) -> str | None:
    """Return the first value in /proc/cpuinfo with one of these names; None without one."""
    for line in (machine.text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in names and value.strip():
            return value.strip()
    return None


def count_cores(machine: Machine) -> int:
    """Return the number of cores; 0 if unreadable."""
    return len(machine.glob(f"{CPU}/cpu[0-9]*"))


def read_governors(machine: Machine) -> tuple[str, ...]:
    """Return the frequency governors in use, sorted."""
    paths = machine.glob(f"{CPU}/cpu*/cpufreq/scaling_governor")
    return tuple(sorted({text for path in paths if (text := machine.text(path))}))


def read_turbo(machine: Machine) -> Turbo | None:
    """Return the state of turbo frequencies; None if unreadable."""
    intel = f"{CPU}/intel_pstate/no_turbo"
    generic = f"{CPU}/cpufreq/boost"  # AMD and acpi-cpufreq
    # The two files have opposite meanings: 1 in no_turbo is off, 1 in boost is on.
    for path, on, off in ((intel, "0", "1"), (generic, "1", "0")):
        state = machine.text(path)
        if state in (on, off):
            return Turbo(on=state == on, path=path, off_text=off)
    return None


def is_smt_switched_on(machine: Machine) -> bool:
    """Return whether hardware threads share cores, by the kernel's SMT switch."""
    return machine.text(f"{CPU}/smt/active") == "1"


def has_sibling_threads(machine: Machine) -> bool:
    """Return whether hardware threads share cores, by the topology of the cores."""
    siblings = {
        machine.text(path) for path in machine.glob(f"{CPU}/cpu*/topology/thread_siblings_list")
    }
    return any(group and ("," in group or "-" in group) for group in siblings)


def read_load_average(machine: Machine) -> float | None:
    """Return the load average of the last minute; None if unreadable."""
    words = (machine.text("/proc/loadavg") or "").split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


def read_ticks(machine: Machine) -> Ticks | None:
    """Return the time of all cores since boot; None if unreadable."""
    words = (machine.text("/proc/stat") or "").partition("\n")[0].split()
    if words[:1] != ["cpu"] or len(words) < 9 or not all(word.isdigit() for word in words[1:9]):
        return None
    # User time includes guest time, the next two fields.
    user, nice, system, idle, waiting, hard, soft, stolen = map(int, words[1:9])
    busy = user + nice + system + hard + soft
    return Ticks(busy=busy, stolen=stolen, total=busy + stolen + idle + waiting)


def count_throttling(machine: Machine) -> int | None:
    """Return how often heat has slowed cores and packages since boot; None if unreadable."""
    paths = machine.glob(f"{CPU}/cpu*/thermal_throttle/*_throttle_count")
    counts = [int(text) for path in paths if (text := machine.text(path)) and text.isdigit()]
    return sum(counts) if counts else None


def read_memory_sizes(machine: Machine) -> dict[str, int]:
    """Return the sizes in /proc/meminfo, in bytes, by their names there; leaves out counts of pages."""
    sizes: dict[str, int] = {}
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        words = line.replace(":", " ").split()
        if len(words) == 3 and words[1].isdigit() and words[2] == "kB":
            sizes[words[0]] = int(words[1]) * 1024
    return sizes
