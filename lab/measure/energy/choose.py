"""Chooses the energy provider, and reports why others cannot be used."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamlab.lab.errors import EnergyError
from streamlab.lab.measure.energy.counter_files import Powercap
from streamlab.lab.measure.energy.joules import track
from streamlab.lab.measure.energy.perf import Perf
from streamlab.lab.measure.energy.provider import (
    BARE_METAL,
    NoCounters,
    Provider,
    Unusable,
    gross_domains,
)
from streamlab.lab.measure.energy.pyrapl import PyRapl

STILL_S = 0.02
"""A counter that does not advance in this time stands still: it refreshes every millisecond, and a package idling
at 1 W adds 20,000 uJ."""

AUTO = "auto"
NONE = "none"
PROVIDERS: Sequence[Provider] = (PyRapl(), Powercap(), Perf())
"""Providers in the order in which `auto` tries them."""
NAMES = (AUTO, *(provider.name for provider in PROVIDERS), NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """State of a provider on this machine.

    Attributes:
        counting: domains that advanced during the probe.
        static: domains that stood still.
        reason: why the provider cannot be used; None if it can.
        remedy: step that may help; may be empty.
    """

    name: str
    counting: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    reason: str | None = None
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The provider to use.

    Attributes:
        name: the provider's name, or `none`.
        reason: why `name` is `none`; otherwise None.
        reports: states of all probed providers.
    """

    name: str
    reason: str | None
    reports: tuple[ProviderStatus, ...]


def by_name(name: str, reason: str | None = None) -> Provider:
    """Return a provider that is not open; `reason` is what the provider `none` reports.

    Raises:
        EnergyError: no provider has this name.
    """
    if name == NONE:
        return NoCounters(reason=reason) if reason else NoCounters()
    (provider,) = _select(name, PROVIDERS)
    return provider


def _select(name: str, providers: Sequence[Provider]) -> Sequence[Provider]:
    matches = [provider for provider in providers if provider.name == name]
    if not matches:
        raise EnergyError(f"unknown energy provider {name!r}; expected one of {', '.join(NAMES)}")
    return matches


def probe(provider: Provider, *, pause: Callable[[float], None] = time.sleep) -> ProviderStatus:
    """Open a provider, watch its counters for 20 ms, and close it.

    A provider is usable if all packages (or, without packages, the platform) advance; DRAM may stand still.
    """
    counters = provider.open()
    if isinstance(counters, Unusable):
        return ProviderStatus(name=provider.name, reason=counters.reason, remedy=counters.remedy)
    readings = list(counters.read())
    pause(STILL_S)
    readings += counters.read()
    readings += counters.close()
    tracks = {domain.name: track(domain, readings) for domain in counters.domains}
    counting_domains = tuple(
        name for name, data in tracks.items() if len(data.joules) and data.joules[-1] > 0
    )
    static = tuple(name for name in tracks if name not in counting_domains)
    needed_domains = [name for name in gross_domains(list(tracks)) if not name.startswith("dram")]
    stuck = [name for name in needed_domains if name in static]
    reason = None
    if stuck:
        reasons = dict.fromkeys(text for name in stuck for text in tracks[name].reasons)
        reason = "; ".join(reasons) or f"{', '.join(stuck)}: the counters stand still"
    return ProviderStatus(
        name=provider.name,
        counting=counting_domains,
        static=static,
        reason=reason,
        remedy=BARE_METAL if stuck else "",
    )


def choose(
    name: str = AUTO,
    *,
    providers: Sequence[Provider] = PROVIDERS,
    pause: Callable[[float], None] = time.sleep,
) -> Choice:
    """Return the first provider with working counters, or `none` with the reasons of all.

    `auto` probes all providers; a provider's name probes only that provider; `none` probes nothing.

    Raises:
        EnergyError: no provider has this name.
    """
    if name == NONE:
        return Choice(name=NONE, reason=NoCounters().reason, reports=())
    candidates = providers if name == AUTO else _select(name, providers)
    reports = tuple(probe(provider, pause=pause) for provider in candidates)
    for report in reports:
        if report.reason is None:
            return Choice(name=report.name, reason=None, reports=reports)
    reason = "; ".join(f"{report.name}: {report.reason}" for report in reports)
    return Choice(name=NONE, reason=reason, reports=reports)
