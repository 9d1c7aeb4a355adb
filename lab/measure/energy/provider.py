"""What a source of energy counters is, and what it says when it cannot be used.

A provider is opened and then read. Whatever goes wrong is a value (`Unusable`, or an entry in
`Reading.failed`), never an exception: a machine without counters is ordinary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Kind(StrEnum):
    """What a counter covers, in the words of the Linux powercap zones.

    `CORE` and `UNCORE` are parts of `PACKAGE`; `DRAM` lies beside it; `PSYS` is the platform and
    contains packages, memory and more. `OTHER` is anything that this list does not know.
    """

    PACKAGE = "package"
    CORE = "core"
    UNCORE = "uncore"
    DRAM = "dram"
    PSYS = "psys"
    OTHER = "other"


def kind_of(domain: str) -> Kind:
    """Return what the domain of this name covers: `dram-1` is `DRAM`."""
    head = domain.partition("-")[0]
    return next((kind for kind in Kind if kind.value == head), Kind.OTHER)


def gross_domains(domains: Sequence[str]) -> tuple[str, ...]:
    """Return the domains whose sum is the energy of the machine, nothing counted twice.

    All packages and all DRAM; psys where there is no package. Empty where there is neither: cores
    alone are no total.
    """
    if any(kind_of(name) is Kind.PACKAGE for name in domains):
        return tuple(name for name in domains if kind_of(name) in (Kind.PACKAGE, Kind.DRAM))
    return tuple(name for name in domains if kind_of(name) is Kind.PSYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One counter.

    Attributes:
        name: kind and socket, e.g. `package-0`, `dram-1`, `core-0-die-1`, `psys`.
        range_uj: the highest value, after which the counter starts again from 0; None when it is
            not known, or when the counter does not wrap.
    """

    name: str
    range_uj: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All counters at one time.

    Attributes:
        time_ns: by the monotonic clock.
        counters_uj: raw counter by domain, in microjoules; a domain that failed is absent.
        failed: why a domain could not be read this time.
        gaps: domains whose counter did not run all the time since the reading before this one; what
            it would have counted is lost.
    """

    time_ns: int
    counters_uj: Mapping[str, int]
    failed: Mapping[str, str] = field(default_factory=dict)
    gaps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Why a provider cannot be used, and the step that may help (empty when there is none)."""

    reason: str
    remedy: str = ""


class Counters(Protocol):
    """An open provider."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The counters that could be read when the provider was opened."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else was found and cannot be read, in words."""

    def read(self) -> Sequence[Reading]:
        """Return the readings since the last call, oldest first; may be empty. Never raises."""

    def close(self) -> Sequence[Reading]:
        """Let go of everything; return readings that only the end brings. May be called twice."""


class Provider(Protocol):
    """A way to read energy counters; costs nothing until it is opened."""

    @property
    def name(self) -> str:
        """One of `streamlab.lab.measure.energy.choose.NAMES`."""

    def open(self) -> Counters | Unusable:
        """Return open counters, at least one of which can be read, or why there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCounters:
    """The provider that reads nothing and knows why.

    Attributes:
        reason: what the record says: why the others were not usable, or that none was wanted.
    """

    reason: str = "switched off"

    @property
    def name(self) -> str:
        """Return `none`."""
        return "none"

    def open(self) -> Unusable:
        """Return the reason."""
        return Unusable(reason=self.reason)


# The remedy that most often applies: hypervisors rarely pass counters on.
BARE_METAL = "measure on bare metal (hypervisors rarely pass counters on); the columns stay empty"
