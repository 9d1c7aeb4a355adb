"""Measures the idle baseline, and computes a trial's net energy."""

import json
import time
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from streamlab.lab.measure.energy.account import account, per_1000
from streamlab.lab.measure.energy.provider import Provider, gross_domains
from streamlab.lab.measure.energy.recorder import EnergyRecorder
from streamlab.results.schema import TrialRow

SECONDS = 60.0
"""Duration of a baseline before and after a session (docs/energy.md)."""
MAX_DRIFT = 0.1
"""Largest difference of the two baselines without a remark, as a share of their mean."""

Watts = Mapping[str, float]


def measure(
    provider: Provider, seconds: float = SECONDS, *, pause: Callable[[float], None] = time.sleep
) -> dict[str, float] | None:
    """Return the mean watts of every domain of the idle machine; None without counters.

    Blocks for `seconds`; includes the power of other processes.
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
    return {
        name: joules / window_s for name, joules in json.loads(str(row["energy_domains"])).items()
    }


def net(row: TrialRow, *, before: Watts | None, after: Watts | None) -> TrialRow:
    """Return a trial's row with the net columns, and an extended reason.

    `before` and `after` are idle baselines, in watts by domain. The trial's baseline is their mean.
    If only one of the two has the trial's domains, that baseline counts, and the reason says so.
    The net energy may be negative. It is None without a gross energy or without a baseline.
    """
    if row.energy_gross_j is None or row.energy_domains is None or row.duration_s is None:
        return row
    reasons = [row.energy_reason] if row.energy_reason else []
    domains = gross_domains(list(json.loads(row.energy_domains)))
    idle = [
        sum(watts[name] for name in domains) if watts and watts.keys() >= set(domains) else None
        for watts in (before, after)
    ]
    baselines = [watts for watts in idle if watts is not None]
    if not baselines:
        reasons.append(f"no idle baseline of {', '.join(domains)}, so no net")
        return replace(row, energy_reason="; ".join(reasons))
    idle_w = sum(baselines) / len(baselines)
    if len(baselines) == 1:
        reasons.append(f"baseline only {'before' if idle[0] is not None else 'after'} the session")
    elif abs(baselines[1] - baselines[0]) > MAX_DRIFT * idle_w:
        reasons.append(
            f"idle went from {baselines[0]:.3g} W before to {baselines[1]:.3g} W after the session, "
            f"more than {MAX_DRIFT:.0%} apart"
        )
    net_j = row.energy_gross_j - idle_w * row.duration_s
    if net_j < 0:
        reasons.append("the trial took less energy than the idle machine: the net is noise")
    return replace(
        row,
        energy_net_j=net_j,
        energy_net_j_per_1000=per_1000(net_j, row.events),
        idle_w=idle_w,
        energy_reason="; ".join(reasons) or None,
    )
