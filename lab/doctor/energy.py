"""Probes of the energy counters, and why there are none."""

import sys

from lab.doctor.finding import Finding, ok, warn
from lab.doctor.machine import Machine

# The counters are refreshed about every millisecond; a package that idles at 1 W counts 20,000 uJ
# meanwhile.
SAMPLE_S = 0.02

_NO_COUNTER = "measure on bare metal (hypervisors rarely pass counters on); the columns stay empty"

# Run in a process of its own: importing pyRAPL leaves a handler on the root logger, warns about
# optional packages, pulls in pandas, and its sensor leaves files open. `None` in sys.modules makes
# an import fail.
_PYRAPL = """
import logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
sys.modules["pandas"] = sys.modules["pymongo"] = None
try:
    import pyRAPL
    sensor = pyRAPL.Sensor()
    sensor.energy()
    print("usable:", ", ".join(device.name.lower() for device in sensor._available_devices))
except Exception as error:
    print("unusable:", type(error).__name__, error)
"""


def advanced_uj(before: int, after: int, range_uj: int) -> int | None:
    """Return how far a counter advanced, in microjoules, over at most one wrap-around.

    Args:
        before: the earlier reading.
        after: the later reading.
        range_uj: the value at which the counter starts again from zero; 0 when unknown.

    Returns:
        None when the counter ran backwards and its range is unknown or was exceeded: the interval
        is lost.
    """
    if after >= before:
        return after - before
    return after - before + range_uj if before <= range_uj else None


def powercap(machine: Machine) -> Finding:
    """Report the powercap (RAPL) zones: absent, denied, standing still, or counting."""
    zones = machine.glob("/sys/class/powercap/*/energy_uj")
    if not zones:
        return warn("powercap", "no energy zone in /sys/class/powercap", _NO_COUNTER)
    before: dict[str, int] = {}
    for zone in zones:
        try:
            before[zone] = int(machine.read(machine.path(zone)))
        except PermissionError:
            return warn(
                "powercap",
                f"{zone}: permission denied (readable by root only)",
                "sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next boot)",
            )
        except (OSError, ValueError) as error:
            return warn("powercap", f"{zone}: {error}", _NO_COUNTER)
    machine.pause(SAMPLE_S)
    counting: list[str] = []
    still: list[str] = []
    for zone, first in before.items():
        base = zone.rsplit("/", 1)[0]
        name = machine.text(f"{base}/name") or base.rsplit("/", 1)[1]
        range_uj = int(machine.text(f"{base}/max_energy_range_uj") or 0)
        second = int(machine.text(zone) or first)
        (counting if advanced_uj(first, second, range_uj) else still).append(name)
    if not counting:
        return warn("powercap", f"{', '.join(still)}: the counters stand still", _NO_COUNTER)
    return ok("powercap", f"counting: {', '.join(counting)}")


def pyrapl(machine: Machine) -> Finding:
    """Report whether pyRAPL can use a counter."""
    said = machine.run([sys.executable, "-c", _PYRAPL])
    kind, _, detail = (said or "").rpartition("\n")[2].partition(": ")
    if kind == "usable":
        return ok("pyRAPL", f"usable: {detail}")
    # Its error for a machine without counters carries no message.
    seen = detail.removesuffix(" None").strip() or "did not answer"
    if "PermissionError" in seen:
        return warn("pyRAPL", seen, "sudo chmod a+r /sys/class/powercap/*/energy_uj")
    if "ModuleNotFoundError" in seen:
        return warn("pyRAPL", seen, "make setup")
    return warn("pyRAPL", f"not usable ({seen})", _NO_COUNTER)


def perf(machine: Machine) -> Finding:
    """Report whether perf's power events exist and may be opened."""
    events = machine.glob("/sys/bus/event_source/devices/power/events/energy-*")
    names = [name for path in events if "." not in (name := path.rsplit("/", 1)[1])]
    if not names:
        return warn("perf power", "no power events (PMU `power` is absent)", _NO_COUNTER)
    paranoid = machine.text("/proc/sys/kernel/perf_event_paranoid") or "0"
    if machine.uid != 0 and paranoid.lstrip("-").isdigit() and int(paranoid) > 0:
        return warn(
            "perf power",
            f"{', '.join(names)}, but perf_event_paranoid is {paranoid}",
            "sudo sysctl kernel.perf_event_paranoid=0",
        )
    return ok("perf power", ", ".join(names))
