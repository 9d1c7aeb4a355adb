"""Reproduces figure 6 of STRETCH: wordcount and paircount, virtual shared-nothing (VSN) against shared-nothing (SN).

The paper's SN is Flink: a map stage in front of aggregates (Corollary 1). The stage has one to as many
instances as there are cores. The figure also draws three C++ systems of this lab under their own names: VSN
on the lab's log, the same map stage and aggregates, and shared-nothing by Algorithm 1, which copies tweets.
All systems count words and pairs as a bag (with repetitions), as the paper's map does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import engine, numbers, outcome, points, run_table
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import Measured, Series, all_of, quotient, series
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import latencies, outputs, several_workers, trials
from streamlab.lab.figures.stretch.paper_setup import (
    ALGORITHM_1,
    DOWNSTREAM,
    FLINK,
    GATE,
    INSTANCES,
    LATENCY,
    ORDER,
    OWN_LOG,
    PAPER,
    RATE,
    SN,
    SN_MAP,
    VSN,
    flink,
    notes,
    paper_engine,
    static_stages,
)
from streamlab.reports.figures.paper import Line, Panel
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import lowest

TWEETS = 4_300_000
"""Tweets in the paper's input."""
COUNTS: tuple[tuple[str, str, dict[str, JsonValue]], ...] = (
    ("wordcount", "wordcount", {}),
    ("paircount L", "paircount@L", {"distance": 3}),
    ("paircount M", "paircount@M", {"distance": 10}),
    ("paircount H", "paircount@H", {"distance": 0}),
)
"""Panels of the figure: name, key of the workload in the matrix, query parameters."""

MAX_MAPS = 36
"""Most map instances of the figure."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the figure.

    Attributes:
        record: the line's name in the record.
        part: part of the ids of the line's cells; empty if the variant suffices.
    """

    variant: str
    record: str
    colour: int
    part: str = ""


PUBLISHED, FLINK_SN = "VSN", "SN (Flink)"
LINES: Mapping[str, _Line] = {
    PUBLISHED: _Line(VSN, "vsn", 0, f"/{GATE}"),
    FLINK_SN: _Line(FLINK, "flink", 1),
    "lab: map stage": _Line(SN_MAP, "map_stage", 2),
    OWN_LOG: _Line(VSN, "own_log", 3, f"/{ORDER}"),
    ALGORITHM_1: _Line(SN, "algorithm_1", 4),
}

WARM_UP_TWEETS = 20_000
"""Tweets in each of Flink's two warm-ups; a tweet has up to hundreds of pairs."""

INPUT_FACTORS = {"wordcount": 10, "paircount@L": 3}
"""Factors on the number of tweets, by panel: a cheap query would otherwise end before it is steady."""


def _scale(options: Options) -> float:
    return options.scaled(0.25, 0.02)


def _maps(options: Options) -> tuple[int, ...]:
    """Return the map stage's degrees of parallelism: powers of two up to the limit, and the limit.

    The limit is the number of cores, at most MAX_MAPS.
    """
    most = min(options.cores, MAX_MAPS)
    return tuple(sorted({1 << k for k in range(most.bit_length())} | {most}))


def _tree(options: Options) -> Tree:
    workloads: list[JsonValue] = []
    for _, key, query in COUNTS:
        name, _, label = key.partition("@")
        share = min(1.0, _scale(options) * INPUT_FACTORS.get(key, 1))
        events = max(1000, round(TWEETS * share))
        workloads.append(
            {
                "name": name,
                "events": events,
                "query": {"counting": "bag", **query},
                **({"label": label} if label else {}),
            }
        )
    return {
        "run": run_table(options, timeout_s=600),
        "workload": workloads,
        "engine": [
            paper_engine("VSN", options, label=GATE),
            engine(VSN, options, label=ORDER, options=DOWNSTREAM),
            *(
                flink(
                    options.instances,
                    "SN of counts",
                    label=f"m{m}",
                    map_instances=m,
                    warm_up_events=WARM_UP_TWEETS,
                )
                for m in _maps(options)
            ),
            *(
                engine(SN_MAP, options, label=f"m{m}", options={"map_instances": m, **DOWNSTREAM})
                for m in _maps(options)
            ),
            engine(SN, options, options=DOWNSTREAM),
        ],
    }


QUANTITIES = {"throughput": RATE, "latency": LATENCY}
"""Quantity of each stage."""
Measurements = dict[tuple[str, str, str], Series]
"""Series by quantity, key of the workload, and name of the line."""


def _ratio(options: Options, measured: Measurements, quantity: str, key: str) -> Measured | None:
    """Return the ratio of VSN's best to Flink's best."""
    vsn, sn = measured[quantity, key, PUBLISHED], measured[quantity, key, FLINK_SN]
    if quantity == "throughput":
        return quotient(vsn.highest(options.within), sn.highest(options.within))
    return quotient(vsn.lowest(options.within), sn.lowest(options.within))


def _claims(options: Options, runs: Runs, measured: Measurements) -> list[MeasuredClaim]:
    claims: list[MeasuredClaim] = []
    parallel_need = several_workers(options)

    def rows(stage: int, key: str) -> list[TrialRow]:
        lines = (LINES[PUBLISHED], LINES[FLINK_SN])
        return [
            row
            for line in lines
            for row in trials(runs[stage], f"{key}/{line.variant}/", line.part)
        ]

    output_need = {key: outputs(rows(0, key)) for _, key, _ in COUNTS}
    gains = {key: _ratio(options, measured, "throughput", key) for _, key, _ in COUNTS}
    for panel, key, _ in COUNTS:
        # For wordcount the paper calls both systems comparable, so VSN need not be faster.
        order = "throughput comparable" if panel == "wordcount" else "throughput order"
        latency_ratio = _ratio(options, measured, "latency", key)
        load_needs = latencies(rows(1, key))
        rates = dict.fromkeys((order, "throughput"), gains[key])
        times = dict.fromkeys(("latency order", "latency"), latency_ratio)
        claims += PAPER.pose_all("6", rates, parallel_need, output_need[key], panel=panel)
        claims += PAPER.pose_all("6", times, parallel_need, *load_needs, panel=panel)
    best = [measured["throughput", key, PUBLISHED].highest(options.within) for _, key, _ in COUNTS]
    falls = all_of([quotient(a, b) for a, b in pairwise(best)], lowest)
    relative_gain = quotient(gains["paircount@H"], gains["wordcount"])
    return [
        *claims,
        PAPER.pose("6", "falling", falls, *output_need.values()),
        PAPER.pose("6", "gain", relative_gain, parallel_need, *output_need.values()),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    measured = {
        (quantity, key, name): series(run, key, line.variant, value, options=line.part)
        for run, (quantity, value) in zip(runs, QUANTITIES.items(), strict=True)
        for _, key, _ in COUNTS
        for name, line in LINES.items()
    }
    return outcome(
        _claims(options, runs, measured),
        notes(
            options,
            _scale(options),
            runs,
            f"Bands are over {', '.join(map(str, _maps(options)))} map instances (the paper: 1 to "
            "36); those of the lab's own map stage, in C++, run on the threads of the aggregates.",
            "Flink 2.3 (the paper: 1.6) with its default buffers of 100 ms. A window's latency counts "
            "from the due time of the first tweet at or after its end.",
            "All systems count words and pairs as a bag, as the paper's map does.",
            "Lines: medians and range of repetitions; the panels show the published quotients.",
            LAG_NOTE,
        ),
        {
            panel: numbers(
                **{
                    f"{line.record}_{unit}": measured[quantity, key, name]
                    for quantity, unit in (("throughput", "eps"), ("latency", "ms"))
                    for name, line in LINES.items()
                }
            )
            for panel, key, _ in COUNTS
        },
        "STRETCH, figure 6: wordcount and paircount by VSN, and by SN in Flink",
        [
            [_panel(options, measured, panel, quantity, key) for panel, key, _ in COUNTS]
            for quantity in QUANTITIES
        ],
        width_in=2.35,
    )


def _panel(options: Options, measured: Measurements, panel: str, quantity: str, key: str) -> Panel:
    is_rate = quantity == "throughput"
    fact = PAPER.fact("6", panel=panel, quantity=quantity)
    gain = _ratio(options, measured, quantity, key)
    text = "no number" if gain is None else f"{gain.value:.3g} \N{MULTIPLICATION SIGN}"
    return Panel(
        title=panel if is_rate else "",
        y_label="tweets/s" if is_rate else "latency p50, ms",
        x_label=INSTANCES,
        lines=[
            Line(
                name=name,
                points=points(measured[quantity, key, name], options),
                colour=line.colour,
                band=_is_swept(measured[quantity, key, name]),
            )
            for name, line in LINES.items()
        ],
        words=[f"VSN/SN published: {fact.text}", f"VSN/SN measured: {text}"],
        log_y=not is_rate,
        ticks=options.instances,
    )


def _is_swept(measured: Series) -> bool:
    return any(len(spreads) > 1 for spreads in measured.by_workers.values())


FIGURE = Figure(
    id="stretch:6",
    title="wordcount and paircount by VSN, and by SN in Flink",
    shows="throughput and latency of wordcount and paircount L, M, H against instances",
    needs=("wordcount", "paircount", VSN, FLINK, SN_MAP, SN),
    stages=static_stages(_tree),
    scale=_scale,
    outcome=_outcome,
)
