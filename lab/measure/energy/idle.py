"""The idle baseline, and what is left of a trial's energy without it."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from streamlab.lab.measure.energy.account import account, per_1000
from streamlab.lab.measure.energy.provider import Provider, gross_domains
from streamlab.lab.measure.energy.recorder import EnergyRecorder

SECONDS = 60.0
"""How long a baseline lasts, before and after a session (METHOD, Energy)."""
MOST_DRIFT = 0.1
"""When the baselines before and after differ by more than this share of their mean, say so."""

Row = dict[str, Any]
Watts = Mapping[str, float]


def measure(
    provider: Provider, seconds: float = SECONDS, *, pause: Callable[[float], None] = time.sleep
) -> dict[str, float] | None:
    """Return the mean watts of every domain while nothing runs, None where there is no counter.

    Blocks for `seconds`. What else runs on the machine meanwhile is in it.
    """
    with EnergyRecorder(provider) as recorder:
        if recorder.reason is not None:
            return None
        pause(seconds)
    times_ns, _ = recorder.series()
    if len(times_ns) < 2:
        return None
    start_ns, end_ns = int(times_ns[0]), int(times_ns[-1])
    row = account(recorder.tracks(), start_ns, end_ns, source=provider.name, events=None)
    if row["energy_gross_j"] is None:
        return None
    window_s = (end_ns - start_ns) / 1e9
    return {name: went / window_s for name, went in json.loads(row["energy_domains"]).items()}


def net(row: Mapping[str, Any], *, before: Watts | None, after: Watts | None) -> Row:
    """Return the net columns of a trial, and its reason with what is doubtful about them.

    Args:
        row: the trial's columns: `energy_gross_j`, `energy_domains`, `energy_reason`, `duration_s`
            and `events`.
        before: baseline before the session, watts by domain; None: there is none.
        after: baseline after it.

    Returns:
        `energy_net_j`, `energy_net_j_per_1000`, `idle_w`, `energy_reason`. The baseline is the mean
        of both; with one of them missing it is the other, and the reason says so. Null where the
        gross is null or no baseline has its domains. A net below 0 is shown as it is.
    """
    reasons = [row["energy_reason"]] if row["energy_reason"] else []
    empty: Row = {"energy_net_j": None, "energy_net_j_per_1000": None, "idle_w": None}
    gross_j = row["energy_gross_j"]
    if gross_j is None:
        return {**empty, "energy_reason": row["energy_reason"]}
    domains = gross_domains(list(json.loads(row["energy_domains"])))
    idle = [_watts(baseline, domains) for baseline in (before, after)]
    found = [watts for watts in idle if watts is not None]
    if not found:
        reasons.append(f"no idle baseline of {', '.join(domains)}, so no net")
        return {**empty, "energy_reason": "; ".join(reasons)}
    idle_w = sum(found) / len(found)
    if len(found) == 1:
        reasons.append(f"baseline only {'before' if idle[0] is not None else 'after'} the session")
    elif abs(found[1] - found[0]) > MOST_DRIFT * idle_w:
        reasons.append(
            f"idle went from {found[0]:.3g} W before to {found[1]:.3g} W after the session, "
            f"more than {MOST_DRIFT:.0%} apart"
        )
    net_j = gross_j - idle_w * row["duration_s"]
    if net_j < 0:
        reasons.append("the trial took less than idle: the net is noise")
    return {
        "energy_net_j": net_j,
        "energy_net_j_per_1000": per_1000(net_j, row["events"]),
        "idle_w": idle_w,
        "energy_reason": "; ".join(reasons) or None,
    }


def _watts(baseline: Watts | None, domains: tuple[str, ...]) -> float | None:
    if baseline is None or any(name not in baseline for name in domains):
        return None
    return sum(baseline[name] for name in domains)
