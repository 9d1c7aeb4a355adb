"""Measures latency against the depth of the plan, a part of figure 10 of DGS.

Both plans of an input have the same workers. The shallow plan has a leaf for each worker. The deep plan
has a leaf for each stream, as in appendix B: each doubling of the streams adds a level for barriers.
"""

from collections.abc import Mapping
from typing import Any

from streamlab.lab.figures.experiment import engine, plain
from streamlab.lab.figures.flumina.percentiles import MEDIAN, Percentiles, band, percentiles
from streamlab.lab.figures.flumina.shared import DGS, WINDOW
from streamlab.lab.figures.flumina.systems import SYSTEMS
from streamlab.lab.figures.judge import Posed, PublishedClaim
from streamlab.lab.figures.measurements import of_cell, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need
from streamlab.reports.figures.paper import Line, Panel
from streamlab.results.store import Run

STREAMS = (2, 4, 8, 16)
"""Numbers of streams; with a leaf each they give 1 to 4 levels above the leaves."""
QUICK_STREAMS = (2, 8)
RATIO = 1_000
"""Values of each stream between two barriers."""
SHALLOW, DEEP = "shallow", "deep"
PLANS = {SHALLOW: "a leaf for each worker", DEEP: "a leaf for each stream"}
_OPTIMIZERS = {SHALLOW: "by-stream", DEEP: "leaf-per-stream"}

PlanLatencies = Mapping[tuple[str, int], Percentiles]
"""Latencies by plan and number of streams."""


def streams(options: Options) -> tuple[int, ...]:
    """Return the numbers of streams; with a leaf each, the levels are their binary logarithm."""
    return QUICK_STREAMS if options.quick else STREAMS


def label(streams: int) -> str:
    """Return the label of the workload with so many streams."""
    return f"deep-{streams}"


def engines(options: Options, workers: int, batch: int) -> list[dict[str, Any]]:
    """Return the `[[engine]]` tables of both plans."""
    return [
        engine(
            DGS,
            options,
            workers=[workers],
            batch=[batch],
            label=plan,
            options={"optimizer": optimizer},
            workloads=["*@deep-*"],
        )
        for plan, optimizer in _OPTIMIZERS.items()
    ]


def latencies_by_plan(options: Options, run: Run, workers: int, load: str) -> PlanLatencies:
    """Return the latencies of both plans by number of streams."""
    return {
        (plan, n): percentiles(run, f"{WINDOW.workload}@{label(n)}", workers, f"{plan}/{load}")
        for plan in PLANS
        for n in streams(options)
    }


def claim(options: Options, latencies: PlanLatencies, *needs: Need) -> Posed:
    """Pose the claim on depth; the paper's text only names it as one of three factors."""
    most = max(streams(options))
    deep, shallow = (of_cell(latencies[plan, most].get(MEDIAN)) for plan in (DEEP, SHALLOW))
    return (
        PublishedClaim(
            text=f"p50 latency with a leaf for each of {most} streams by that with one for each "
            "worker, same input and workers",
            published="the depth of the plan affects latency",
            source="section D.1",
        )
        .of(SYSTEMS["DGS"])
        .given(*needs)
        .shape(quotient(deep, shallow), 1.0, float("inf"), "x")
    )


def panel(options: Options, latencies: PlanLatencies, workers: int) -> Panel:
    """Return the panel: latency against streams, by both plans."""
    return Panel(
        title=f"{RATIO:,} values a barrier, {workers} worker{'s' * (workers > 1)}",
        y_label="latency, ms",
        x_label="streams (levels with a leaf each)",
        lines=[
            Line(
                name=f"p50, and p10 to p90, {description}",
                points=[
                    point
                    for place, n in enumerate(streams(options))
                    for point in band(place, latencies[plan, n], workers > options.cores)
                ],
                colour=colour,
                band=True,
            )
            for colour, (plan, description) in enumerate(PLANS.items(), 1)
        ],
        log_y=True,
        ticks=range(len(streams(options))),
        tick_names=[f"{n} ({n.bit_length() - 1})" for n in streams(options)],
        write=plain,
    )
