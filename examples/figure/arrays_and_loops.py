"""A figure: measures how much faster array operations are than a Python loop."""

from math import inf

from streamlab.figure import (
    Fact,
    Facts,
    Figure,
    FigureStage,
    Layout,
    Line,
    Options,
    Outcome,
    Panel,
    Plan,
    Runs,
    column,
    draw,
    judge,
    machine,
    numbers,
    outputs,
    points,
    published_claim,
    quick_note,
    quotient,
    run_table,
    series,
    trials,
    troubles,
)

ARRAYS, LOOP = "dataframe/numpy", "reference/sequential"


def facts() -> Facts:
    """Return the published numbers that the figure is compared with."""
    published = Fact(
        figure="1",
        panel="",
        series="arrays/loop",
        quantity="throughput",
        x="",
        low=10.0,
        high=inf,
        unit="1",
        relation="at least",
        source="common knowledge",
    )
    return Facts((published,))


def plan(options: Options, runs: Runs) -> Plan:
    """Return the matrix to run, in the form that `lab run` reads."""
    return Plan(
        tree={
            "run": run_table(options, timeout_s=120),
            "workload": [
                {"name": "event_window", "events": round(options.scaled(1.0, 0.05) * 1_000_000)}
            ],
            "engine": [{"name": "dataframe"}, {"name": "reference"}],
        }
    )


def outcome(options: Options, runs: Runs) -> Outcome:
    """Judge the claim and prepare the drawing."""
    (run,) = runs
    rate = column("throughput_eps")
    arrays, loop = (series(run, "event_window", variant, rate) for variant in (ARRAYS, LOOP))
    published = facts().one(figure="1")
    claim = (
        published_claim("array operations over a Python loop", published)
        .requiring(outputs(trials(run, "event_window/")))
        .at_least(quotient(arrays.at(1), loop.at(1)), published.low, "x")
    )
    notes = (*quick_note(options), *machine(runs), *troubles(runs))
    lines = [
        Line(name=name, points=points(rates, options))
        for name, rates in (("arrays", arrays), ("loop", loop))
    ]
    return Outcome(
        claims=judge([claim]),
        notes=notes,
        numbers=numbers(arrays=arrays, loop=loop),
        draw=lambda: draw(
            Layout(
                title="event windows: arrays and loops",
                rows=[[Panel(title="rate", y_label="events/s", lines=lines, log_y=True)]],
                notes=notes,
            )
        ),
    )


FIGURES = (
    Figure(
        id="arrays:1",
        title="array operations and a Python loop",
        shows="throughput of event windows",
        needs=("event_window", ARRAYS, LOOP),
        stages=(FigureStage(name="rates", about="at full speed", plan=plan),),
        outcome=outcome,
    ),
)
