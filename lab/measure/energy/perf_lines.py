"""Parses lines of `perf stat --per-socket -I <ms> -x ;` for energy events.

    0.100121637;S0;1;1.87;Joules;power/energy-pkg/;100120943;100.00;;

The columns are: seconds since perf's start, socket, number of CPUs read, joules since the previous line (or
`<not counted>`, `<not supported>`), unit, event, and others that are ignored ("CSV FORMAT" in perf-stat(1)).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

# perf's event names and the powercap names; `gpu` is the second power plane, powercap's uncore.
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
    """Reason why a line has no joules."""

    NOT_COUNTED = "<not counted>"
    NOT_SUPPORTED = "<not supported>"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyLine:
    """One event of one socket in one interval.

    Attributes:
        time: perf's text of the time, equal for all lines of an interval.
        domain: name of the domain, e.g. `package-0`.
        uj: microjoules since the previous line, or why they are missing.
    """

    time: str
    domain: str
    uj: float | Missing

    @property
    def time_ns(self) -> int:
        """Return the nanoseconds since perf's start."""
        seconds, _, fraction = self.time.partition(".")
        return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def parse(line: str) -> EnergyLine | None:
    """Parse a line; return None if it is not an energy line."""
    match = LINE.match(line)
    if match is None or match["event"] not in EVENTS:
        return None
    value: float | Missing
    if match["value"] in (Missing.NOT_COUNTED, Missing.NOT_SUPPORTED):
        value = Missing(match["value"])
    elif match["unit"] != "Joules":
        return None
    else:
        try:
            value = float(match["value"]) * 1e6
        except ValueError:
            return None
    kind = EVENTS[match["event"]]
    # The platform has one counter, shown by one socket.
    name = "psys" if kind == "psys" and match["socket"] == "0" else f"{kind}-{match['socket']}"
    if match["die"] is not None and kind != "psys":
        name = f"{name}-die-{match['die']}"
    return EnergyLine(time=match["time"], domain=name, uj=value)
