"""Reproduces figure 7 of STRETCH: the cost of data sharing and sorting alone, by forwarding tuples."""

from typing import Any

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import (
    degree_panel,
    engine,
    numbers,
    outcome,
    plain,
    run_table,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.measurements import Series, Value, all_of, quotient, series
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    latencies,
    outputs,
    several_workers,
    sweep_points,
    trials,
)
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
    VSN,
    facts,
    flink,
    notes,
    paper_engine,
    static_stages,
)
from streamlab.reports.figures.paper import Mark
from streamlab.results.query import Spread
from streamlab.results.stats.estimates import lowest
from streamlab.results.store import Run

_COLOURS = (0, 1, 3, 4)
"""Colours of VSN, Flink, and this lab's VSN and SN, as in figure 6."""
_TUPLES = 40_000_000
"""Input tuples at scale 1. The paper's 4.3 M tweets would last a tenth of a second here."""


def _scale(options: Options) -> float:
    return options.scaled(1.0, 0.25)


def _tuples(options: Options) -> int:
    return max(1000, round(_TUPLES * _scale(options)))


def _tree(options: Options) -> Tree:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": "forward",
                "label": f"n{n}",
                "events": _tuples(options),
                "query": {"copies": n},
            }
            for n in options.instances
        ],
        # Every instance forwards every tuple once, so there are as many copies as instances.
        "engine": [
            table
            for n in options.instances
            for table in _engines(options, workers=[n], workloads=[f"forward@n{n}"])
        ],
    }


def _engines(options: Options, workers: list[int], **fields: Any) -> list[dict[str, JsonValue]]:
    return [
        paper_engine("VSN", options, workers=workers, label=GATE, **fields),
        engine(VSN, options, workers=workers, label=ORDER, options=DOWNSTREAM, **fields),
        engine(SN, options, workers=workers, options=DOWNSTREAM, **fields),
        flink(workers, "SN of forward", **fields),
    ]


def _by_copies(run: Run, value: Value, options: Options) -> tuple[Series, ...]:
    """Return a quantity of VSN, Flink, this lab's VSN and this lab's SN."""

    def merge_instance_counts(variant: str, part: str = "") -> Series:
        spreads: dict[int, tuple[Spread, ...]] = {}
        for n in options.instances:
            spreads |= series(run, f"forward@n{n}", variant, value, options=part).by_workers
        return Series(spreads)

    return (
        merge_instance_counts(VSN, f"/{GATE}"),
        merge_instance_counts(FLINK),
        merge_instance_counts(VSN, f"/{ORDER}"),
        merge_instance_counts(SN),
    )


def _outcome(options: Options, runs: Runs) -> Outcome:
    vsn, sn, own_log, algorithm_1 = _by_copies(runs[0], RATE, options)
    vsn_ms, sn_ms, own_log_ms, algorithm_1_ms = _by_copies(runs[1], LATENCY, options)
    common = [n for n in vsn.workers(options.within) if n in sn.by_workers]
    output_need = outputs(trials(runs[0], "forward@"))
    common_needs = (several_workers(options), output_need)
    grown = (
        sweep_points("numbers of instances within the cores that both systems have", len(common)),
        output_need,
    )
    load_needs = {
        variant: latencies(trials(runs[1], "forward@", f"/{variant}/", part))
        for variant, part in ((VSN, f"/{GATE}"), (FLINK, ""))
    }
    least, most = (common[0], common[-1]) if common else (0, 0)
    vsn_change = quotient(vsn.at(most), vsn.at(least))
    sn_change = quotient(sn.at(most), sn.at(least))
    gain = all_of([quotient(vsn.at(n), sn.at(n)) for n in common], lowest)
    first, last = (
        PAPER.fact("7", series="VSN", quantity="throughput", x=x).low for x in ("first", "last")
    )
    ends = {"least": least, "most": most}
    relative_change = quotient(vsn_change, sn_change)
    latest, earliest = vsn_ms.highest(options.within), sn_ms.lowest(options.within)
    vsn_bound, sn_bound = (PAPER.fact("7", panel="latency", series=s) for s in ("VSN", "SN"))
    return outcome(
        [
            *PAPER.pose_all("7", {"more": gain, "throughput": gain}, *common_needs),
            PAPER.pose("7", "VSN falls", vsn_change, *grown, fallen=last / first, **ends),
            PAPER.pose("7", "SN falls faster", relative_change, *grown, **ends),
            PAPER.pose("7", "VSN latency", latest, *load_needs[VSN]),
            PAPER.pose("7", "SN latency", earliest, *load_needs[FLINK]),
        ],
        notes(
            options,
            1.0,
            runs,
            "SN is Flink 2.3 (the paper: 1.6) with its default buffers of 100 ms; a task merges the "
            f"copies. {OWN_LOG} and {ALGORITHM_1} are in C++.",
            "Published rates are of a Java engine on another machine: drawn, never judged.",
            f"Input is {_tuples(options):,} generated tuples on two streams; each instance forwards "
            "every tuple.",
            LAG_NOTE,
        ),
        numbers(
            vsn_eps=vsn,
            flink_eps=sn,
            own_log_eps=own_log,
            algorithm_1_eps=algorithm_1,
            vsn_ms=vsn_ms,
            flink_ms=sn_ms,
            own_log_ms=own_log_ms,
            algorithm_1_ms=algorithm_1_ms,
        ),
        "STRETCH, figure 7: forwarding two inputs by VSN, and by SN in Flink",
        [
            [
                degree_panel(
                    options,
                    "Maximum throughput",
                    "input tuples/s",
                    {"VSN": vsn, "SN (Flink)": sn, OWN_LOG: own_log, ALGORITHM_1: algorithm_1},
                    colours=_COLOURS,
                    x_label=INSTANCES,
                    marks=[_published_range("VSN", 0), _published_range("SN", 1)],
                    log_y=True,
                ),
                degree_panel(
                    options,
                    "Latency at 70 % of it",
                    "latency p50, ms",
                    {
                        "VSN": vsn_ms,
                        "SN (Flink)": sn_ms,
                        OWN_LOG: own_log_ms,
                        ALGORITHM_1: algorithm_1_ms,
                    },
                    colours=_COLOURS,
                    x_label=INSTANCES,
                    marks=[
                        Mark(name="VSN's latency below", low=0, high=vsn_bound.high, colour=0),
                        Mark(
                            name="SN's latency above",
                            low=sn_bound.low,
                            high=sn_bound.high,
                            colour=1,
                        ),
                    ],
                    log_y=True,
                    write=plain,
                ),
            ]
        ],
    )


def _published_range(name: str, colour: int) -> Mark:
    rates = facts().of(figure="7", series=name, quantity="throughput")
    return Mark(
        name=f"{name}'s range of throughput",
        low=min(fact.low for fact in rates),
        high=max(fact.high for fact in rates),
        colour=colour,
    )


FIGURE = Figure(
    id="stretch:7",
    title="forwarding operator with two inputs by VSN, and by SN in Flink",
    shows="maximum throughput and latency against instances",
    needs=("forward", VSN, FLINK, SN),
    stages=static_stages(_tree),
    scale=_scale,
    outcome=_outcome,
)
