"""Reproduces figure 7 of STRETCH: the cost of data sharing and sorting alone, by forwarding tuples."""

from typing import Any

from streamlab.lab.figures.experiment import asked, engine, numbers, plain, points, run_table
from streamlab.lab.figures.figure import Figure, Outcome, Plan, Runs
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import Series, all_of, quotient, series
from streamlab.lab.figures.offered_stages import LAG_NOTE
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import (
    latencies,
    outputs,
    several_workers,
    sweep_points,
    trials,
)
from streamlab.lab.figures.stretch.shared import ALGORITHM_1, DOWNSTREAM, SN, VSN, facts, notes
from streamlab.lab.figures.stretch.static import INSTANCES, LATENCY, RATE, stages
from streamlab.lab.figures.stretch.systems import FLINK_FORWARD, STRETCH
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.results.query import Spread
from streamlab.results.stats.estimates import lowest

_FALL = 0.2
"""Share by which VSN's rate may fall further than published; the paper measured at 36 instances."""
_TUPLES = 40_000_000
"""Input tuples. The paper's 4.3 M tweets would last a tenth of a second here."""


def _scale_7(options: Options) -> float:
    return options.scaled(1.0, 0.25)


def _tuples(options: Options) -> int:
    return max(1000, round(_TUPLES * _scale_7(options)))


def _tree_7(options: Options) -> Plan:
    return Plan(
        tree={
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
            # Every instance forwards every tuple once: as many copies as instances.
            "engine": [
                engine(
                    variant,
                    options,
                    workers=[n],
                    workloads=[f"forward@n{n}"],
                    label=f"n{n}",
                    options=DOWNSTREAM,
                )
                for n in options.instances
                for variant in (VSN, SN)
            ],
        }
    )


def _by_copies(runs: Runs, stage: int, variant: str, value: Any, options: Options) -> Series:
    joined: dict[int, tuple[Spread, ...]] = {}
    for n in options.instances:
        joined |= series(runs[stage], f"forward@n{n}", variant, value).by_workers
    return Series(joined)


def _outcome_7(options: Options, runs: Runs) -> Outcome:
    vsn, sn = (_by_copies(runs, 0, variant, RATE, options) for variant in (VSN, SN))
    vsn_ms, sn_ms = (_by_copies(runs, 1, variant, LATENCY, options) for variant in (VSN, SN))
    both = [n for n in vsn.workers(options.within) if n in sn.by_workers]
    produced = outputs(trials(runs[0], "forward@"))
    shared = (several_workers(options), produced)
    grown = (
        sweep_points("numbers of instances within the cores that both systems have", len(both)),
        produced,
    )
    offered = {v: latencies(trials(runs[1], "forward@", f"/{v}/")) for v in (VSN, SN)}
    least, most = (both[0], both[-1]) if both else (0, 0)
    vsn_change = quotient(vsn.at(most), vsn.at(least))
    sn_change = quotient(sn.at(most), sn.at(least))
    gain = [quotient(vsn.at(n), sn.at(n)) for n in both]
    first, last = (
        facts().one(figure="7", series="VSN", quantity="throughput", x=x).low
        for x in ("first", "last")
    )
    fallen = last / first
    gain_fact = facts().one(figure="7", series="VSN/SN")
    latency_facts = {s: facts().one(figure="7", panel="latency", series=s) for s in ("VSN", "SN")}
    posed = (
        asked("VSN forwards more than SN at every number of instances", gain_fact)
        .between(STRETCH, FLINK_FORWARD)
        .given(*shared)
        .shape(all_of(gain, lowest), 1.0, float("inf"), "x"),
        asked("VSN/SN ratio of throughput, at its least", gain_fact)
        .between(STRETCH, FLINK_FORWARD)
        .given(*shared)
        .near(all_of(gain, lowest), gain_fact.low, gain_fact.high, 0.2, "x"),
        PublishedClaim(
            text=f"VSN's input rate falls little and does not grow ({least} to {most} instances)",
            published="120,000 to 100,000 t/s",
            source="section 8.2",
        )
        .of(STRETCH)
        .given(*grown)
        .shape(vsn_change, (1 - _FALL) * fallen, 1.1, "x"),
        PublishedClaim(
            text=f"SN's input rate falls faster than VSN's ({least} to {most})",
            published="40,000 to 2,000 t/s",
            source="section 8.2",
        )
        .between(STRETCH, FLINK_FORWARD)
        .given(*grown)
        .shape(quotient(vsn_change, sn_change), 1.0, float("inf"), "x"),
        asked("VSN's latency", latency_facts["VSN"])
        .of(STRETCH)
        .given(*offered[VSN])
        .at_most(vsn_ms.highest(options.within), latency_facts["VSN"].high, "ms"),
        asked("SN's latency", latency_facts["SN"])
        .of(FLINK_FORWARD)
        .given(*offered[SN])
        .at_least(sn_ms.lowest(options.within), latency_facts["SN"].low, "ms"),
    )
    figure_notes = notes(
        options,
        1.0,
        runs,
        f"{ALGORITHM_1} is this lab's own, in C++; the paper's SN is Flink 1.6, and absent here.",
        "Published rates are of a Java engine on another machine: drawn, never judged.",
        f"Input is {_tuples(options):,} generated tuples on two streams; each instance forwards "
        "every tuple.",
        LAG_NOTE,
    )
    return Outcome(
        claims=judge(posed),
        notes=figure_notes,
        numbers=dict(numbers(vsn_eps=vsn, algorithm_1_eps=sn, vsn_ms=vsn_ms, algorithm_1_ms=sn_ms)),
        draw=lambda: draw(
            Layout(
                title="STRETCH, figure 7: forwarding two inputs by VSN (SN in Flink: absent)",
                rows=[
                    [
                        Panel(
                            title="Maximum throughput",
                            y_label="input tuples/s",
                            x_label=INSTANCES,
                            lines=_pair(options, vsn, sn),
                            marks=[
                                _published_range("VSN", 0),
                                _published_range("SN", 1),
                            ],
                            log_y=True,
                            ticks=options.instances,
                        ),
                        Panel(
                            title="Latency at 70 % of it",
                            y_label="latency p50, ms",
                            x_label=INSTANCES,
                            lines=_pair(options, vsn_ms, sn_ms),
                            marks=[
                                Mark(
                                    name="VSN's latency below",
                                    low=0,
                                    high=latency_facts["VSN"].high,
                                    colour=0,
                                ),
                                Mark(
                                    name="SN's latency above",
                                    low=latency_facts["SN"].low,
                                    high=float("inf"),
                                    colour=1,
                                ),
                            ],
                            log_y=True,
                            ticks=options.instances,
                            write=plain,
                        ),
                    ]
                ],
                notes=figure_notes,
            )
        ),
    )


def _published_range(name: str, colour: int) -> Mark:
    rates = facts().of(figure="7", series=name, quantity="throughput")
    return Mark(
        name=f"{name}'s range of throughput",
        low=min(fact.low for fact in rates),
        high=max(fact.high for fact in rates),
        colour=colour,
    )


def _pair(options: Options, vsn: Series, sn: Series) -> list[Line]:
    return [
        Line(name="VSN", points=points(vsn, options), colour=0),
        Line(name=ALGORITHM_1, points=points(sn, options), colour=1),
    ]


FIGURE = Figure(
    id="stretch:7",
    title="forwarding operator with two inputs by VSN (SN in Flink: absent)",
    shows="maximum throughput and latency against instances",
    needs=("forward", VSN, SN),
    stages=stages(_tree_7),
    scale=_scale_7,
    outcome=_outcome_7,
)
