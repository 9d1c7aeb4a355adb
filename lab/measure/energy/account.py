"""Computes the energy columns of a measuring window from recorded counters; pure functions."""

import json
from collections.abc import Mapping

from streamlab.lab.measure.energy.joules import (
    Track,
    joules_between,
    lost_spans,
    union_s,
    wraps_between,
)
from streamlab.lab.measure.energy.provider import Kind, gross_domains, kind_of

SHORT_WINDOW_S = 10.0
"""Shorter windows get a remark: two interpolated edges of up to 100 ms are 2 % of 10 s (docs/energy.md)."""
SHORTEST_S = 0.1
"""Shorter windows get no energy: one counter refresh at each edge is 2 % of 0.1 s, and some counters are slower."""
MAX_LOST = 0.01
"""Largest lost share of the window; if more is lost, the total is null."""
REFRESH_S = 1e-3
"""Losses up to one refresh of the counters are ignored: a window's edge always lies between two values."""

Row = dict[str, object]

COLUMNS = (
    "energy_source",
    "energy_reason",
    "energy_domains",
    "energy_gross_j",
    "energy_net_j",
    "energy_j_per_1000",
    "energy_net_j_per_1000",
    "power_w",
    "idle_w",
    "energy_wraps",
    "energy_dropped_s",
)
"""Columns of the row that this package fills."""


def unreadable(reason: str) -> Row:
    """Return the columns of a machine without counters: all null, with the reason."""
    return {**dict.fromkeys(COLUMNS), "energy_source": "none", "energy_reason": reason}


def account(
    tracks: Mapping[str, Track],
    start_ns: int,
    end_ns: int,
    *,
    source: str,
    events: int | None,
    remarks: tuple[str, ...] = (),
) -> Row:
    """Return the gross columns of a window; the net columns are null.

    Omits domains that stood still or lost more than 1 % of the window. If such a domain belongs to
    the total, the total is null, except for DRAM that stood still: many machines have no working
    memory counter. The reason names the domain.
    """
    window_s = (end_ns - start_ns) / 1e9
    gross = gross_domains(list(tracks))
    if window_s < SHORTEST_S:
        reason = f"{window_s:.3g} s is too short for energy, below {SHORTEST_S:g} s"
        return {**unreadable(reason), "energy_source": source}
    if not gross:
        return unreadable("; ".join(["no package or psys counter", *remarks]))
    joules: dict[str, float] = {}
    fatal: list[str] = []
    warnings = list(remarks)
    for name, track in tracks.items():
        consumed_j = joules_between(track, start_ns, end_ns)
        lost_s = union_s(lost_spans(track, start_ns, end_ns))
        if lost_s > MAX_LOST * window_s:
            reason = ", ".join(track.reasons) or "no reading"
            target = fatal if name in gross else warnings
            target.append(f"{name}: {lost_s:.3g} s of {window_s:.3g} s lost ({reason})")
        elif consumed_j == 0:
            is_needed = name in gross and kind_of(name) is not Kind.DRAM
            (fatal if is_needed else warnings).append(f"{name} stood still")
        else:
            joules[name] = consumed_j
            if lost_s > REFRESH_S:
                warnings.append(f"{name}: {lost_s:.3g} s lost ({', '.join(track.reasons)})")
    if window_s < SHORT_WINDOW_S:
        warnings.append(
            f"short: {window_s:.3g} s; below {SHORT_WINDOW_S:g} s the window's edges are inexact"
        )
    total = None if fatal else sum(joules[name] for name in gross if name in joules)
    dropped_s = union_s(
        [span for name in gross for span in lost_spans(tracks[name], start_ns, end_ns)]
    )
    return {
        **dict.fromkeys(COLUMNS),
        "energy_source": source,
        "energy_reason": "; ".join(fatal + warnings) or None,
        "energy_domains": json.dumps({name: round(value, 6) for name, value in joules.items()}),
        "energy_gross_j": total,
        "energy_j_per_1000": per_1000(total, events),
        "power_w": None if total is None else total / window_s,
        "energy_wraps": sum(wraps_between(track, start_ns, end_ns) for track in tracks.values()),
        "energy_dropped_s": dropped_s if dropped_s > REFRESH_S else 0.0,
    }


def per_1000(joules: float | None, events: int | None) -> float | None:
    """Return joules per 1,000 events; None if either is missing."""
    return None if joules is None or not events else joules * 1000 / events
