"""A figure of two stages on engines that are always there, for trying the machinery."""

from streamlab.lab.errors import FigureError
from streamlab.lab.figures.experiment import numbers, points, run_table
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan
from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import column, quotient, series
from streamlab.lab.figures.offered_stages import latency_plan
from streamlab.lab.figures.stretch.paper_setup import notes
from streamlab.reports.figures.paper import Layout, Line, Panel, draw
from streamlab.reports.published import Fact, Facts

FAST = "multicore/dgs"
dataset = ""  # id, set by the test
broken = False


def facts():
    fact = Fact(
        figure="1", panel="rate", series="fast/slow", quantity="throughput", x="", low=1.0,
        high=1e9, unit="1", relation="ratio", source="here",
    )  # fmt: skip
    return Facts((fact,))


def first(options, runs=()):
    return Plan(
        tree={
            "run": run_table(options, timeout_s=600, repetitions=3),
            "workload": [{"name": "event_window", "dataset": dataset, "label": "small"}],
            "engine": [
                {"name": "multicore", "variants": ["dgs"], "workers": list(options.instances)},
                {"name": "reference"},
            ],
        }
    )


def second(options, runs):
    if broken:
        raise FigureError("the second stage is broken")
    # The input lasts a hundredth of a second at these rates: too short for a window. The reference
    # engine's source is virtual, so that a busy machine cannot make it lag.
    plan = latency_plan(options, first(options).tree, runs)
    plan = Plan(tree=plan.tree, only=tuple(i for i in plan.only if "reference" in i))
    for load in plan.tree["load"]:
        load |= {"rate_eps": 2000.0, "warm_up_s": 0.1, "window_s": 0.3}
    return plan


def outcome(options, runs):
    rate = column("throughput_eps")
    fast = series(runs[0], "event_window@small", FAST, rate)
    slow = series(runs[0], "event_window@small", "reference/sequential", rate)
    faster = quotient(fast.highest(options.within), slow.highest((1,)))
    said = notes(options, 1.0, runs)
    # Far from its bound: trials of a third of a millisecond differ by a factor of ten.
    asked = PublishedClaim(text="compiled is not far slower", published="1", source="here")
    return Outcome(
        claims=judge([asked.shape(faster, 1e-6, float("inf"), "x")]),
        notes=said,
        numbers=dict(numbers(fast=fast, slow=slow)),
        draw=lambda: draw(
            Layout(
                title="toy",
                rows=[
                    [Panel(title="rate", y_label="events/s",
                           lines=[Line(name="fast", points=points(fast, options))])]
                ],
                notes=said,
            )
        ),
    )  # fmt: skip


STAGES = (
    FigureStage(name="rates", about="as fast as it goes", plan=first),
    FigureStage(name="latency", about="at a share of it", plan=second),
)
FIGURES = (
    Figure(
        id="toy:1",
        title="a toy",
        shows="rates",
        needs=("event_window", FAST),
        stages=STAGES,
        outcome=outcome,
    ),
    Figure(
        id="toy:2",
        title="the same again",
        shows="rates",
        needs=("event_window", FAST),
        stages=STAGES,
        outcome=outcome,
    ),
    Figure(
        id="toy:3",
        title="impossible",
        shows="nothing",
        needs=("no_such_workload", "multicore/none", "nowhere/any"),
        stages=STAGES[:1],
        outcome=outcome,
    ),
)
