"""Counters that are files of one number each, as sysfs offers them."""

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


def read_text(path: Path) -> str:
    """Return the content of a small file."""
    return path.read_text(encoding="ascii", errors="replace")


def why(error: Exception) -> str:
    """Return an error in words, never empty: some libraries raise without a message."""
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    said = str(error).strip()
    return f"{type(error).__name__}: {said}" if said not in ("", "None") else type(error).__name__


class FileCounters:
    """Open counters over files; every read opens and closes them, so nothing stays behind.

    A reading carries the middle of the time that it took. Files are read one after the other, some
    tens of microseconds apart.
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
        failed: dict[str, str] = {}
        begin_ns = self._clock()
        for name, path in self._paths.items():
            try:
                counters[name] = int(self._read(path))
            except (OSError, ValueError) as error:
                failed[name] = f"{path}: {why(error)}"
        end_ns = self._clock()
        return (Reading(time_ns=(begin_ns + end_ns) // 2, counters_uj=counters, failed=failed),)

    def close(self) -> tuple[Reading, ...]:
        """Do nothing: no file is open between reads."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a provider calls its files, for its messages.

    Attributes:
        name: of the place, e.g. `/sys/class/powercap`.
        opens: the command that lets others than root read the counters.
    """

    name: str
    opens: str


def open_files(
    files: Mapping[Domain, Path], where: Where, read: ReadText
) -> FileCounters | Unusable:
    """Return counters over those files that can be read, unless the machine's total is missing."""
    if not files:
        return Unusable(reason=f"no energy counter in {where.name}", remedy=BARE_METAL)
    (first,) = FileCounters(files, read=read).read()
    readable = {domain: path for domain, path in files.items() if domain.name in first.counters_uj}
    remarks = tuple(first.failed.values())
    total = gross_domains([domain.name for domain in files])
    if not total:
        names = ", ".join(domain.name for domain in files)
        return Unusable(reason=f"{where.name}: {names}, but no package or psys", remedy=BARE_METAL)
    # A total without one of its sockets would be wrong without looking wrong.
    if any(name in first.failed and kind_of(name) is not Kind.DRAM for name in total):
        denied = any("permission denied" in remark for remark in remarks)
        return Unusable(reason="; ".join(remarks), remedy=where.opens if denied else BARE_METAL)
    return FileCounters(readable, remarks=remarks, read=read)
