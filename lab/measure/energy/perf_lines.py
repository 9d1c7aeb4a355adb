"""The lines of `perf stat --per-socket -I <ms> -x ;`, for energy events.

    0.100121637;S0;1;1.87;Joules;power/energy-pkg/;100120943;100.00;;

Time since perf's start in seconds, socket, number of CPUs that were read, joules since the line
before (or `<not counted>`, `<not supported>`), unit, event, and columns that do not matter here
("CSV FORMAT" in perf-stat(1)).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

# perf's names of the events, in the words of the powercap zones; `gpu` is the second power plane,
# which powercap calls uncore.
EVENTS = {
    "energy-pkg": "package",
    "energy-cores": "core",
    "energy-gpu": "uncore",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
LINE = re.compile(
    r"\s*(?P<time>\d+\.\d+);S(?P<socket>\d+)(?:-D(?P<die>\d+))?;\d+;(?P<value>[^;]+);(?P<unit>[^;]*);"
    r"(?:power/)?(?P<event>energy-\w+)"
)


class Missing(StrEnum):
    """Why a line has no joules."""

    NOT_COUNTED = "<not counted>"
    NOT_SUPPORTED = "<not supported>"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyLine:
    """One event of one socket in one interval.

    Attributes:
        time: perf's own text of the time, equal for all lines of an interval.
        domain: e.g. `package-0`.
        uj: microjoules since the line before, or why there are none.
    """

    time: str
    domain: str
    uj: float | Missing

    @property
    def time_ns(self) -> int:
        """Nanoseconds since perf started to count."""
        seconds, _, fraction = self.time.partition(".")
        return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def parse(line: str) -> EnergyLine | None:
    """Return what a line says, or None where it is no energy line that is understood."""
    found = LINE.match(line)
    if found is None or found["event"] not in EVENTS:
        return None
    value: float | Missing
    if found["value"] in (Missing.NOT_COUNTED, Missing.NOT_SUPPORTED):
        value = Missing(found["value"])
    elif found["unit"] != "Joules":
        return None
    else:
        try:
            value = float(found["value"]) * 1e6
        except ValueError:
            return None
    kind = EVENTS[found["event"]]
    # The platform has one counter, shown by one socket.
    name = "psys" if kind == "psys" and found["socket"] == "0" else f"{kind}-{found['socket']}"
    if found["die"] is not None and kind != "psys":
        name = f"{name}-die-{found['die']}"
    return EnergyLine(time=found["time"], domain=name, uj=value)
