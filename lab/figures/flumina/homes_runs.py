"""Plans the runs of figure A2 of DGS: homes at full speed, and under a load with frequent slices."""

from typing import Any

from streamlab.lab.figures.experiment import engine, events, run_table
from streamlab.lab.figures.flumina.shared import BLOCK, DGS, facts
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options

WORKLOAD = "smart_home"
ALL, HOUSE = "all", "house"
ENDS = {ALL: "slices end for all", HOUSE: "slices end house by house"}
"""Descriptions of parameter `ends`; the first is the paper's."""
FULL, OFFERED = "full", "offered"
HOUSEHOLDS, PLUGS = 4, 13
"""Households of a house, and plugs of a household: 52 plugs a house; the challenge has 2,125 in 40
houses."""
PERIOD_S = {FULL: 2, OFFERED: 60}
"""Seconds of event time between two load values of a plug."""
SLICE_S = 3600
SLICES_PER_S = 10
"""Slices that end in a second of the load: 120 in 12 s, enough for a 90th percentile."""
_EVENTS = (16_000_000, 4_000_000)
_BATCH = 64
_LENGTHS_S = (2.0, 12.0)
_QUICK_LENGTHS_S = (0.5, 3.0)


def houses() -> int:
    """Return the paper's number of houses."""
    return int(facts().one(figure="A2", quantity="houses that were run").low)


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: the chosen ones, or up to twice the cores."""
    if options.workers is not None:
        return options.instances
    return tuple(sorted({*options.instances, 2 * options.cores}))


def lengths_s(options: Options) -> tuple[float, float]:
    """Return the lengths of the load's warm-up and window in seconds."""
    if options.scale is None:
        return _QUICK_LENGTHS_S if options.quick else _LENGTHS_S
    warm_up_s, window_s = _LENGTHS_S
    return max(0.2, warm_up_s * options.scale), max(0.5, window_s * options.scale)


def rate_eps() -> float:
    """Return the offered rate in events/s at which `SLICES_PER_S` slices end in a second."""
    return SLICES_PER_S * SLICE_S / PERIOD_S[OFFERED] * houses() * HOUSEHOLDS * PLUGS


def key(ends: str, mode: str) -> str:
    """Return the matrix key of a workload; `mode` is FULL or OFFERED."""
    return f"{WORKLOAD}@{ends}-{mode}"


def tree(options: Options) -> dict[str, Any]:
    """Return the matrix: both kinds of ends, at full speed and under the load."""
    warm_up_s, window_s = lengths_s(options)
    event_counts = {
        FULL: events(options, *_EVENTS),
        OFFERED: round(rate_eps() * (warm_up_s + window_s + 1 / SLICES_PER_S)),
    }
    layout = {"households_per_house": HOUSEHOLDS, "plugs_per_household": PLUGS}
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": WORKLOAD,
                "label": f"{ends}-{mode}",
                "events": event_counts[mode],
                "params": {
                    "houses": houses(),
                    "streams": min(houses(), max(degrees(options))),
                    "ends": ends,
                    "period_s": PERIOD_S[mode],
                    "slice_s": SLICE_S,
                    **layout,
                },
                "query": {"slice_s": SLICE_S, **layout},
            }
            for ends in ENDS
            for mode in (FULL, OFFERED)
        ],
        "engine": [
            engine(DGS, options, workers=list(degrees(options)), batch=[batch], workloads=[pattern])
            for batch, pattern in ((BLOCK, f"*-{FULL}"), (_BATCH, f"*-{OFFERED}"))
        ],
        "load": [
            {"mode": "catch-up", "label": FULL, "workloads": [f"*-{FULL}"]},
            {
                "label": OFFERED,
                "arrival": "constant",
                "rate_eps": rate_eps(),
                "warm_up_s": warm_up_s,
                "window_s": window_s,
                "workloads": [f"*-{OFFERED}"],
                # Workers that take every core leave none for the generator.
                "send_lag_ms": SEND_LAG_MS,
            },
        ],
    }
