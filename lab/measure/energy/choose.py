"""Which provider is used, and why the others are not."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamlab.lab.errors import EnergyError
from streamlab.lab.measure.energy.hwmon import Hwmon
from streamlab.lab.measure.energy.joules import track
from streamlab.lab.measure.energy.perf import Perf
from streamlab.lab.measure.energy.powercap import Powercap
from streamlab.lab.measure.energy.provider import (
    BARE_METAL,
    NoCounters,
    Provider,
    Unusable,
    gross_domains,
)
from streamlab.lab.measure.energy.pyrapl import PyRapl

STILL_S = 0.02
"""A counter that does not move in this time stands still: it is refreshed every millisecond, and a
package that idles at 1 W counts 20,000 uJ meanwhile."""

AUTO = "auto"
NONE = "none"
PROVIDERS: Mapping[str, Callable[[], Provider]] = {
    "pyrapl": PyRapl,
    "powercap": Powercap,
    "hwmon": Hwmon,
    "perf": Perf,
}
"""In the order in which `auto` tries them."""
NAMES = (AUTO, *PROVIDERS, NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """What one provider can do here.

    Attributes:
        name: of the provider.
        counting: domains that advanced while they were watched.
        still: domains that did not.
        reason: why it cannot be used; None when it can.
        remedy: the step that may help; empty when none is known or needed.
    """

    name: str
    counting: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    reason: str | None = None
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The provider to use, and what was found about all that were looked at.

    Attributes:
        name: of the provider; `none` where no counter counts.
        reason: why it is `none`; None otherwise.
        reports: in the order in which they are preferred.
    """

    name: str
    reason: str | None
    reports: tuple[ProviderStatus, ...]


def by_name(name: str, reason: str | None = None) -> Provider:
    """Return a provider, not opened; `reason` is what `none` says.

    Raises:
        EnergyError: there is no provider of this name.
    """
    if name == NONE:
        return NoCounters(reason=reason) if reason else NoCounters()
    if name not in PROVIDERS:
        raise EnergyError(f"energy provider {name!r}; expected one of {', '.join(NAMES)}")
    return PROVIDERS[name]()


def probe(provider: Provider, *, pause: Callable[[float], None] = time.sleep) -> ProviderStatus:
    """Open a provider, watch its counters for 20 ms, and close it.

    Usable is a provider whose packages (or, without packages, platform) all count; `account` lets
    DRAM stand still, and so does this.
    """
    opened = provider.open()
    if isinstance(opened, Unusable):
        return ProviderStatus(name=provider.name, reason=opened.reason, remedy=opened.remedy)
    readings = list(opened.read())
    pause(STILL_S)
    readings += opened.read()
    readings += opened.close()
    tracks = {domain.name: track(domain, readings) for domain in opened.domains}
    counting = tuple(
        name for name, found in tracks.items() if len(found.joules) and found.joules[-1] > 0
    )
    still = tuple(name for name in tracks if name not in counting)
    needed = [name for name in gross_domains(list(tracks)) if not name.startswith("dram")]
    stuck = [name for name in needed if name in still]
    if not stuck:
        return ProviderStatus(name=provider.name, counting=counting, still=still)
    reasons = dict.fromkeys(reason for name in stuck for reason in tracks[name].reasons)
    return ProviderStatus(
        name=provider.name,
        counting=counting,
        still=still,
        reason="; ".join(reasons) or f"{', '.join(stuck)}: the counters stand still",
        remedy=BARE_METAL,
    )


def choose(
    name: str = AUTO,
    *,
    providers: Mapping[str, Callable[[], Provider]] = PROVIDERS,
    pause: Callable[[float], None] = time.sleep,
) -> Choice:
    """Return the first provider that really counts, or `none` with every reason.

    Args:
        name: `auto`, a provider (only it is looked at), or `none` (nothing is).
        providers: what to look at, in order.
        pause: waits that many seconds.

    Raises:
        EnergyError: there is no provider of this name.
    """
    if name == NONE:
        return Choice(name=NONE, reason=NoCounters().reason, reports=())
    if name != AUTO and name not in providers:
        raise EnergyError(f"energy provider {name!r}; expected one of {', '.join(NAMES)}")
    wanted = providers if name == AUTO else {name: providers[name]}
    reports = tuple(probe(make(), pause=pause) for make in wanted.values())
    for report in reports:
        if report.reason is None:
            return Choice(name=report.name, reason=None, reports=reports)
    reason = "; ".join(f"{report.name}: {report.reason}" for report in reports)
    return Choice(name=NONE, reason=reason, reports=reports)
