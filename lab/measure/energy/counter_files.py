"""Reads the RAPL counters of powercap on Intel and AMD; each counter is a file with one number.

The kernel shows every zone as `intel-rapl:<zone>[:<child>]`. A zone has `name` (package-0, psys;
children core, uncore, dram), `energy_uj` and `max_energy_range_uj`
(Documentation/power/powercap/powercap.rst of Linux).
Since Linux 5.10 only root may read `energy_uj` (CVE-2020-8694).
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlab.lab.measure.energy.provider import (
    BARE_METAL,
    Domain,
    Kind,
    Reading,
    Unusable,
    gross_domains,
    kind_of,
)

ReadText = Callable[[Path], str]

# `intel-rapl-mmio:0` repeats the package of `intel-rapl:0`, so only `intel-rapl` counts.
_ZONE = re.compile(r"intel-rapl(:\d+)+")
PLACE = "/sys/class/powercap"
REMEDY = f"sudo chmod a+r {PLACE}/*/energy_uj (until the next boot)"


def read_text(path: Path) -> str:
    """Return the content of a small file."""
    return path.read_text(encoding="ascii", errors="replace")


def describe_error(error: Exception) -> str:
    """Return an error as text, never empty; some libraries raise errors without a message."""
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text not in ("", "None") else type(error).__name__


class FileCounters:
    """Open counters over files; every read opens and closes the files.

    A reading's time is the middle of the read.
    Files are read one after the other, some tens of microseconds apart.
    """

    def __init__(
        self,
        files: Mapping[Domain, Path],
        *,
        remarks: tuple[str, ...] = (),
        read: ReadText = read_text,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.domains = tuple(files)
        self.remarks = remarks
        self._paths = {domain.name: path for domain, path in files.items()}
        self._read = read
        self._clock = clock

    def read(self) -> tuple[Reading, ...]:
        """Read every file once."""
        counters: dict[str, int] = {}
        failures: dict[str, str] = {}
        begin_ns = self._clock()
        for name, path in self._paths.items():
            try:
                counters[name] = int(self._read(path))
            except (OSError, ValueError) as error:
                failures[name] = f"{path}: {describe_error(error)}"
        end_ns = self._clock()
        return (Reading(time_ns=(begin_ns + end_ns) // 2, counters_uj=counters, failed=failures),)

    def close(self) -> tuple[Reading, ...]:
        """Do nothing: no file is open between reads."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Powercap:
    """The provider of powercap counters; `root` is the folder of the zones."""

    root: Path = Path(PLACE)
    read: ReadText = read_text
    name: str = "powercap"

    def open(self) -> FileCounters | Unusable:
        """Open the readable files; `Unusable` if the machine's total is incomplete."""
        files = find_zones(self.root, self.read)
        if not files:
            return Unusable(reason=f"no energy counter in {PLACE}", remedy=BARE_METAL)
        (first,) = FileCounters(files, read=self.read).read()
        readable = {
            domain: path for domain, path in files.items() if domain.name in first.counters_uj
        }
        remarks = tuple(first.failed.values())
        total = gross_domains([domain.name for domain in files])
        if not total:
            names = ", ".join(domain.name for domain in files)
            reason = f"{PLACE}: {names}, but no package or psys"
            return Unusable(reason=reason, remedy=BARE_METAL)
        # A total that lacks a socket would be wrong without looking wrong.
        if any(name in first.failed and kind_of(name) is not Kind.DRAM for name in total):
            is_denied = any("permission denied" in remark for remark in remarks)
            return Unusable(reason="; ".join(remarks), remedy=REMEDY if is_denied else BARE_METAL)
        return FileCounters(readable, remarks=remarks, read=self.read)


def find_zones(root: Path, read: ReadText) -> dict[Domain, Path]:
    """Return the `energy_uj` file of every powercap zone, sorted by zone."""
    files: dict[Domain, Path] = {}
    names: set[str] = set()
    for path in sorted(root.glob("*/energy_uj")):
        zone = path.parent.name
        if not _ZONE.fullmatch(zone):
            continue
        name = _text(path.with_name("name"), read) or zone
        parent = zone.rpartition(":")[0]
        if ":" in parent:  # child `dram` of `package-0` is `dram-0`
            parent_name = _text(root / parent / "name", read) or parent.partition(":")[2]
            name = f"{name}-{parent_name.removeprefix('package-')}"
        if name in names:  # Without a suffix, two zones with one name would become one counter.
            name = f"{name}-{zone}"
        names.add(name)
        files[Domain(name=name, range_uj=counter_range(path, read))] = path
    return files


def counter_range(counter: Path, read: ReadText = read_text) -> int | None:
    """Return the range of a powercap counter, in microjoules; None if unknown."""
    text = _text(counter.with_name("max_energy_range_uj"), read)
    return int(text) or None if text.isdecimal() else None


def _text(path: Path, read: ReadText) -> str:
    """Return a file's text without surrounding white space; empty if it cannot be read."""
    try:
        return read(path).strip()
    except OSError:
        return ""
