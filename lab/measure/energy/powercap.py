"""The RAPL counters as files: `/sys/class/powercap`.

The kernel shows every zone as `intel-rapl:<zone>[:<child>]`, on AMD processors under the same
name. A zone has `name` (package-0, psys; children core, uncore, dram), `energy_uj` and
`max_energy_range_uj` (Documentation/power/powercap/powercap.rst of Linux). Root alone may read
`energy_uj` since Linux 5.10 (CVE-2020-8694).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.measure.energy.counter_files import (
    FileCounters,
    ReadText,
    Where,
    open_files,
    read_text,
)
from streamlab.lab.measure.energy.provider import Domain, Unusable

ROOT = Path("/sys/class/powercap")
WHERE = Where(
    name=str(ROOT),
    opens="sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next boot)",
)
# `intel-rapl-mmio:0` shows the package of `intel-rapl:0` once more; only this family is counted.
ZONE = re.compile(r"intel-rapl(:\d+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Powercap:
    """The powercap files.

    Attributes:
        root: the directory of zones.
        read: returns a file's text; raises OSError.
    """

    root: Path = ROOT
    read: ReadText = read_text

    @property
    def name(self) -> str:
        """Return `powercap`."""
        return "powercap"

    def open(self) -> FileCounters | Unusable:
        """Find every zone and open those that can be read."""
        return open_files(self.zones(), WHERE, self.read)

    def zones(self) -> dict[Domain, Path]:
        """Return the `energy_uj` file of every zone, sorted by zone."""
        paths = [path for path in self.root.glob("*/energy_uj") if ZONE.fullmatch(path.parent.name)]
        named = {path.parent.name: path for path in sorted(paths)}
        found: dict[Domain, Path] = {}
        taken: set[str] = set()
        for zone, path in named.items():
            name = self._domain(zone)
            if name in taken:  # Two zones of one name would be one counter: keep them apart.
                name = f"{name}-{zone}"
            taken.add(name)
            found[Domain(name=name, range_uj=range_beside(path, self.read))] = path
        return found

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


def range_beside(counter: Path, read: ReadText = read_text) -> int | None:
    """Return the range of the counter in this file, in microjoules, or None when it is unknown."""
    try:
        return int(read(counter.parent / "max_energy_range_uj")) or None
    except (OSError, ValueError):
        return None
