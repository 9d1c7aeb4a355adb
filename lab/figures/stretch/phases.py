"""Plans the experiment of figures 11, 12 and 16 to 19: abrupt random rates for twenty minutes.

Rates are random as in section 8.5. One instance of this lab's engine may handle the paper's 500 to 8,000
t/s alone, so that no reconfiguration would occur.
The plan therefore scales the rates: the highest is 80 % (the controller's upper threshold) of the
capacity at the highest number of instances.
The tuples' event time is the run's clock, so windows grow and shrink with the rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import REPETITIONS, run_table
from streamlab.lab.figures.figure import FigureStage, Plan, Runs
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.stretch.paper_setup import PAPER, paper_engine, replayed_load
from streamlab.lab.figures.stretch.steps import (
    controller,
    highest_eps,
    horizons,
    rates_tree,
    window_ms,
)
from streamlab.workloads.datasets.rate_script import parse_rates

WS_MS = 60_000
"""The paper's window, at scale 1."""
UPPER = 0.8
"""The controller's upper threshold, as a share of the instances' capacity."""
_REPETITIONS_OF_THREE = 10
"""Repetitions of a figure with three executions: an order statistic for 15 claims needs ten."""
SEEDS_11, SEEDS_16, SEEDS_19 = (25,), (3, 17, 21), (37,)
"""Seeds of the random phases, one per figure of the paper. The rates repeatedly cross half of the highest
capacity, so that even two instances show changes."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A constant rate, in tuples/s over both inputs, for some seconds."""

    rate_eps: float
    length_s: float


def scale(options: Options) -> float:
    """Return the share of the paper's lengths."""
    return options.scaled(0.1, 0.025)


def script(share: float) -> str:
    """Return the rate script of section 8.5, with lengths multiplied by `share`; see `rate_script`.

    Factors are thousandths of the highest rate: 63 means 500 of 8,000 t/s.
    """
    rate, length = (
        PAPER.fact("11", panel="rate", quantity=quantity) for quantity in ("rate", "phase")
    )
    least_ms, most_ms = (max(1, round(s * share * 1000)) for s in (length.low, length.high))
    return f"phases({least_ms}, {most_ms}, {ceil(1000 * rate.low / rate.high)}, 1000)"


def length_s(share: float) -> float:
    """Return the length of the experiment in seconds."""
    return PAPER.fact("11", quantity="length").low * share


def phases(seed: int, share: float, highest_eps: float) -> tuple[Phase, ...]:
    """Return the phases of a run, the last one truncated at the end of the experiment.

    `highest_eps` is this lab's counterpart of the paper's highest rate, 8,000 t/s.
    """
    end_ms = round(length_s(share) * 1000)
    starts, factors = parse_rates(script(share), "rates of section 8.5").changes(end_ms, seed)
    ends = [*starts[1:].tolist(), end_ms]
    return tuple(
        Phase(factor / 1000 * highest_eps, (end - start) / 1000)
        for start, end, factor in zip(starts.tolist(), ends, factors.tolist(), strict=True)
    )


def top_eps(options: Options, runs: Runs) -> float:
    """Return the highest rate to offer: 80 % of the capacity at the highest number of instances."""
    rates = highest_eps(runs, window_ms(scale(options), WS_MS))
    return float(rates[max(rates)] * UPPER**0.5)


def _plan_rates(options: Options, runs: Runs) -> Plan:
    return rates_tree(options, window_ms(scale(options), WS_MS), (max(options.instances),))


def _plan_phases(seeds: Sequence[int], options: Options, runs: Runs) -> Plan:
    share, top = scale(options), top_eps(options, runs)
    side_eps = max(1, round(top / 2))
    workloads: list[JsonValue] = []
    loads: list[JsonValue] = []
    for seed in seeds:
        planned_phases = phases(seed, share, 2.0 * side_eps)
        total_s = length_s(share)
        events = sum(phase.length_s * phase.rate_eps for phase in planned_phases)
        workloads.append(
            {
                "name": "scale_join",
                "label": f"phases{seed}",
                "events": round(events * 1.01) + 100,
                "seed": seed,
                "params": {"left_eps": side_eps, "right_eps": side_eps, "rates": script(share)},
                "query": {"ws_ms": window_ms(share, WS_MS)},
            }
        )
        warm_up_s = min(planned_phases[0].length_s, total_s) * 0.2
        label, window_s = f"phases{seed}", total_s - warm_up_s
        workload = f"scale_join@{label}"
        loads.append(replayed_load(label, warm_up_s, window_s, workloads=[workload]))
    return Plan(
        tree={
            "run": run_table(
                options,
                timeout_s=3600,
                repetitions=REPETITIONS if len(seeds) == 1 else _REPETITIONS_OF_THREE,
            ),
            "workload": workloads,
            "engine": [
                paper_engine(
                    "operator 10",
                    options,
                    workers=[1],
                    options=controller("model", options, upper=UPPER, **horizons(share)),
                )
            ],
            "load": loads,
        }
    )


def stages(seeds: Sequence[int]) -> tuple[FigureStage, ...]:
    """Return the two stages for these seeds."""
    return (
        FigureStage(name="rates", about="the highest rate of the most instances", plan=_plan_rates),
        FigureStage(name="phases", about="abrupt random rates", plan=partial(_plan_phases, seeds)),
    )
