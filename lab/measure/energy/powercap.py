"""Reads the RAPL counters from the files in `/sys/class/powercap`.

The kernel shows every zone as `intel-rapl:<zone>[:<child>]`, on AMD processors as well.
A zone has `name` (package-0, psys; children core, uncore, dram), `energy_uj` and `max_energy_range_uj`
(Documentation/power/powercap/powercap.rst of Linux).
Since Linux 5.10 only root may read `energy_uj` (CVE-2020-8694).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from streamlab.lab.measure.energy.counter_files import (
    FileCounters,
    Location,
    ReadText,
    open_files,
    read_text,
)
from streamlab.lab.measure.energy.provider import Domain, Unusable

ROOT = Path("/sys/class/powercap")
LOCATION = Location(
    name=str(ROOT),
    remedy="sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next boot)",
)
# `intel-rapl-mmio:0` repeats the package of `intel-rapl:0`, so only `intel-rapl` counts.
ZONE = re.compile(r"intel-rapl(:\d+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Powercap:
    """The powercap files."""

    name: ClassVar[str] = "powercap"
    root: Path = ROOT
    read: ReadText = read_text

    def open(self) -> FileCounters | Unusable:
        """Find all zones and open the readable ones."""
        return open_files(self.zones(), LOCATION, self.read)

    def zones(self) -> dict[Domain, Path]:
        """Return the `energy_uj` file of every zone, sorted by zone."""
        paths = [path for path in self.root.glob("*/energy_uj") if ZONE.fullmatch(path.parent.name)]
        by_zone = {path.parent.name: path for path in sorted(paths)}
        files: dict[Domain, Path] = {}
        names: set[str] = set()
        for zone, path in by_zone.items():
            name = self._domain(zone)
            if name in names:  # Without this, two zones with one name would become one counter.
                name = f"{name}-{zone}"
            names.add(name)
            files[Domain(name=name, range_uj=counter_range(path, self.read))] = path
        return files

    def _domain(self, zone: str) -> str:
        """Return a zone's name with its socket: child `dram` of `package-0` is `dram-0`."""
        name = self._text(zone, "name") or zone
        parent = zone.rpartition(":")[0]
        if ":" not in parent:
            return name
        above = self._text(parent, "name") or parent.partition(":")[2]
        return f"{name}-{above.removeprefix('package-')}"

    def _text(self, zone: str, file: str) -> str | None:
        try:
            return self.read(self.root / zone / file).strip()
        except OSError:
            return None


def counter_range(counter: Path, read: ReadText = read_text) -> int | None:
    """Return the range of a counter file, in microjoules; None if unknown."""
    try:
        return int(read(counter.parent / "max_energy_range_uj")) or None
    except (OSError, ValueError):
        return None
