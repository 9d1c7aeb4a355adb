"""What figure A2 of DGS runs: homes at full speed, and under a load whose slices end soon."""

from typing import Any

from streamlab.lab.figures.experiment import engine, events, run_table
from streamlab.lab.figures.flumina.shared import BLOCK, DGS, facts
from streamlab.lab.figures.offered_stages import SEND_LAG_MS
from streamlab.lab.figures.options import Options

WORKLOAD = "smart_home"
ALL, HOUSE = "all", "house"
ENDS = {ALL: "slices end for all", HOUSE: "slices end house by house"}
"""By parameter `ends`; the first is the paper's."""
FULL, OFFERED = "full", "offered"
HOUSEHOLDS, PLUGS = 4, 13
"""Of a house, and of a household: 52 plugs a house, where the challenge has 2,125 in 40."""
PERIOD_S = {FULL: 2, OFFERED: 60}
"""Between two loads of a plug."""
SLICE_S = 3600
SLICES_PER_S = 10
"""That end under the load: 120 in 12 s, of which a 90th percentile can be told."""
_EVENTS = (16_000_000, 4_000_000)
_BATCH = 64
_LENGTHS_S = (2.0, 12.0)
_QUICK_LENGTHS_S = (0.5, 3.0)


def houses() -> int:
    """Return the number of houses that the paper ran."""
    return int(facts().one(figure="A2", quantity="houses that were run").low)


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers: those chosen, or up to twice the cores."""
    if options.workers is not None:
        return options.instances
    return tuple(sorted({*options.instances, 2 * options.cores}))


def lengths_s(options: Options) -> tuple[float, float]:
    """Return the lengths of warm-up and window of the load."""
    if options.scale is None:
        return _QUICK_LENGTHS_S if options.quick else _LENGTHS_S
    warm_up_s, window_s = _LENGTHS_S
    return max(0.2, warm_up_s * options.scale), max(0.5, window_s * options.scale)


def rate_eps() -> float:
    """Return the offered rate, at which event time runs `SLICES_PER_S` slices in a second."""
    return SLICES_PER_S * SLICE_S / PERIOD_S[OFFERED] * houses() * HOUSEHOLDS * PLUGS


def key(ends: str, how: str) -> str:
    """Return the key of a workload."""
    return f"{WORKLOAD}@{ends}-{how}"


def tree(options: Options) -> dict[str, Any]:
    """Return the matrix: either kind of ends, at full speed and under the load."""
    warm_up_s, window_s = lengths_s(options)
    many = {
        FULL: events(options, *_EVENTS),
        OFFERED: round(rate_eps() * (warm_up_s + window_s + 1 / SLICES_PER_S)),
    }
    layout = {"households_per_house": HOUSEHOLDS, "plugs_per_household": PLUGS}
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": WORKLOAD,
                "label": f"{ends}-{how}",
                "events": many[how],
                "params": {
                    "houses": houses(),
                    "streams": min(houses(), max(degrees(options))),
                    "ends": ends,
                    "period_s": PERIOD_S[how],
                    "slice_s": SLICE_S,
                    **layout,
                },
                "query": {"slice_s": SLICE_S, **layout},
            }
            for ends in ENDS
            for how in (FULL, OFFERED)
        ],
        "engine": [
            engine(DGS, options, workers=list(degrees(options)), batch=[batch], workloads=[of])
            for batch, of in ((BLOCK, f"*-{FULL}"), (_BATCH, f"*-{OFFERED}"))
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
                # Where workers take every core, nothing is left for the generator.
                "send_lag_ms": SEND_LAG_MS,
            },
        ],
    }
