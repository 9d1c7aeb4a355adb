"""Defines the interface of energy providers.

A provider is opened and then read.
Errors are values (`Unusable`, or an entry in `Reading.failed`), never exceptions: many machines have no counters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol


class Kind(StrEnum):
    """Part of the machine that a counter covers, named as in the Linux powercap zones.

    `CORE` and `UNCORE` are parts of `PACKAGE`; `DRAM` is separate.
    `PSYS` is the platform, with packages, memory and more.
    """

    PACKAGE = "package"
    CORE = "core"
    UNCORE = "uncore"
    DRAM = "dram"
    PSYS = "psys"
    OTHER = "other"


def kind_of(domain: str) -> Kind:
    """Return the kind of a domain by its name: `dram-1` is `DRAM`."""
    head = domain.partition("-")[0]
    return next((kind for kind in Kind if kind.value == head), Kind.OTHER)


def gross_domains(domains: Sequence[str]) -> tuple[str, ...]:
    """Return the domains that add up to the machine's energy, without overlap.

    These are all packages and all DRAM, or psys if there is no package.
    The result is empty if neither exists, since cores alone are not a total.
    """
    if any(kind_of(name) is Kind.PACKAGE for name in domains):
        return tuple(name for name in domains if kind_of(name) in (Kind.PACKAGE, Kind.DRAM))
    return tuple(name for name in domains if kind_of(name) is Kind.PSYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One counter.

    Attributes:
        name: kind and socket, e.g. `package-0`, `dram-1`, `core-0-die-1`, `psys`.
        range_uj: the highest value, after which the counter restarts from 0; None if unknown, or if the
            counter does not wrap.
    """

    name: str
    range_uj: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All counters at one time.

    Attributes:
        counters_uj: raw counters by domain, in microjoules, without failed domains.
        failed: error texts by domain.
        gaps: domains whose counter paused since the previous reading; that energy is lost.
    """

    time_ns: int
    counters_uj: Mapping[str, int]
    failed: Mapping[str, str] = field(default_factory=dict)
    gaps: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Reason why a provider cannot be used, and a step that may help (may be empty)."""

    reason: str
    remedy: str = ""


class Counters(Protocol):
    """An open provider.

    Attributes:
        domains: counters that were readable on opening.
        remarks: texts about counters that cannot be read.
    """

    domains: tuple[Domain, ...]
    remarks: tuple[str, ...]

    def read(self) -> Sequence[Reading]:
        """Return the readings since the last call, oldest first; may be empty. Never raises."""

    def close(self) -> Sequence[Reading]:
        """Release all resources; return the final readings. May be called twice."""


class Provider(Protocol):
    """A way to read energy counters; costs nothing until it is opened."""

    @property
    def name(self) -> str:
        """Return the provider's name, one of `streamlab.lab.measure.energy.choose.NAMES`."""

    def open(self) -> Counters | Unusable:
        """Return open counters, at least one of them readable, or the reason why none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCounters:
    """The provider that reads nothing."""

    name: ClassVar[str] = "none"
    reason: str = "switched off"

    def open(self) -> Unusable:
        """Return the reason."""
        return Unusable(reason=self.reason)


BARE_METAL = "measure on bare metal (hypervisors rarely pass counters on); the columns stay empty"
