"""Reads AMD's energy counters from hardware-monitoring files, for machines without powercap zones.

The driver `amd_energy` was in Linux 5.8 to 5.12 and is still built outside the kernel; `zenergy` is its successor.
Both show `energy<N>_input` in microjoules with `energy<N>_label`: `Esocket0` for a package, `Ecore000` for a core.
The driver extends the counters to 64 bits, so they do not wrap.
Only sockets are read: cores are parts of a socket, and there may be over a hundred.
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

ROOT = Path("/sys/class/hwmon")
LOCATION = Location(
    name=f"{ROOT} (amd_energy, zenergy)",
    remedy="sudo chmod a+r /sys/class/hwmon/hwmon*/energy*_input (until the next boot)",
)
DRIVERS = ("amd_energy", "zenergy")
SOCKET = re.compile(r"Esocket(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hwmon:
    """The hardware-monitoring files; `root` is their directory, `read` returns a file's text."""

    name: ClassVar[str] = "hwmon"
    root: Path = ROOT
    read: ReadText = read_text

    def open(self) -> FileCounters | Unusable:
        """Find the sockets of the known drivers and open the readable ones."""
        files: dict[Domain, Path] = {}
        for chip in sorted(self.root.glob("hwmon*")):
            if self._text(chip / "name") not in DRIVERS:
                continue
            for label in sorted(chip.glob("energy*_label")):
                socket = SOCKET.fullmatch(self._text(label))
                if socket is not None:
                    path = label.with_name(label.name.replace("_label", "_input"))
                    files.setdefault(Domain(name=f"package-{socket[1]}"), path)
        return open_files(files, LOCATION, self.read)

    def _text(self, path: Path) -> str:
        try:
            return self.read(path).strip()
        except OSError:
            return ""
