"""Reads energy counters from files with one number each, as in sysfs."""

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
        failed: dict[str, str] = {}
        begin_ns = self._clock()
        for name, path in self._paths.items():
            try:
                counters[name] = int(self._read(path))
            except (OSError, ValueError) as error:
                failed[name] = f"{path}: {describe_error(error)}"
        end_ns = self._clock()
        return (Reading(time_ns=(begin_ns + end_ns) // 2, counters_uj=counters, failed=failed),)

    def close(self) -> tuple[Reading, ...]:
        """Do nothing: no file is open between reads."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Location of a provider's files, for messages."""

    name: str
    remedy: str


def open_files(
    files: Mapping[Domain, Path], location: Location, read: ReadText
) -> FileCounters | Unusable:
    """Return counters over the readable files; `Unusable` if the machine's total is incomplete."""
    if not files:
        return Unusable(reason=f"no energy counter in {location.name}", remedy=BARE_METAL)
    (first,) = FileCounters(files, read=read).read()
    readable = {domain: path for domain, path in files.items() if domain.name in first.counters_uj}
    remarks = tuple(first.failed.values())
    total = gross_domains([domain.name for domain in files])
    if not total:
        names = ", ".join(domain.name for domain in files)
        return Unusable(
            reason=f"{location.name}: {names}, but no package or psys", remedy=BARE_METAL
        )
    # A total without one of its sockets would be wrong, and would not look wrong.
    if any(name in first.failed and kind_of(name) is not Kind.DRAM for name in total):
        denied = any("permission denied" in remark for remark in remarks)
        return Unusable(reason="; ".join(remarks), remedy=location.remedy if denied else BARE_METAL)
    return FileCounters(readable, remarks=remarks, read=read)
