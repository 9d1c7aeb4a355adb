"""Reproduces figures 4a and 4b of Viper: determinism by operators (OL) against channels (CL).

Both run as the paper publishes them, which the claims judge, and in this lab's own forms, which are
only drawn. Every number of injectors is combined with every number of operator instances, at full
speed. With one of each nothing is merged, and both layers are the same graph.
"""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

from streamlab.lab.figures.experiment import (
    beyond_note,
    engine,
    numbers,
    plain,
    points,
    quick_note,
    run_table,
    scale_note,
)
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.judge import judge
from streamlab.lab.figures.measurements import machine, troubles
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.viper.claims import claims_of
from streamlab.lab.figures.viper.grid import (
    CL,
    FORMS,
    LAYERS,
    NEW_SEG,
    NO_COUNTER,
    OL,
    OWN_CL,
    OWN_OL,
    POS_REP,
    Energy,
    Grid,
    Quantity,
    Question,
    degrees,
    energy_of,
    facts,
    grid_of,
    label,
)
from streamlab.reports.figures.paper import Layout, Line, Mark, Panel, draw
from streamlab.reports.numbers import number_of

OPERATORS = "lab: merging operators"
"""The stand-in for the paper's OL, which runs on Storm."""
_TITLES = {
    CL: "CL: ScaleGate as channels",
    OL: f"{OPERATORS}, a tuple at a time",
    OWN_CL: "CL, own: logs as channels",
    OWN_OL: f"{OPERATORS}, by runs",
}
_RECORDS, _QUICK_RECORDS = 40_000_000, 10_000_000


def _events(options: Options) -> int:
    if options.scale is not None:
        return max(1000, round(_RECORDS * options.scale))
    return _QUICK_RECORDS if options.quick else _RECORDS


def _plan(question: Question, options: Options, runs: Runs) -> Plan:
    return Plan(
        tree={
            "run": run_table(options, timeout_s=300),
            "workload": [
                {
                    "name": question.workload,
                    "label": f"i{injectors}",
                    "events": _events(options),
                    "params": {"streams": injectors},
                }
                for injectors in degrees(options)
            ],
            "engine": [
                engine(
                    LAYERS,
                    options,
                    workers=list(degrees(options)),
                    batch=[1],  # the paper hands over single tuples
                    options=dict(form_options),
                    label=label(layer),
                )
                for layer, form_options in FORMS.items()
            ],
        }
    )


def _outcome(question: Question, options: Options, runs: Runs) -> Outcome:
    energy, grid = energy_of(runs), grid_of(question, options, runs)
    figure_notes = _notes(question, options, runs, energy, grid)
    return Outcome(
        claims=judge(claims_of(question, options, runs, energy, grid)),
        notes=figure_notes,
        numbers={
            f"{OPERATORS if layer == OL else layer}, {injectors} injectors": numbers(
                throughput_eps=grid.rate[layer, injectors],
                latency_ms=grid.late[layer, injectors],
                **{energy.y_label: grid.energy[layer, injectors]},
                switches_per_mtuple=grid.switches[layer, injectors],
                threads=grid.threads[layer, injectors],
            )
            for layer, injectors in grid.rate
        },
        draw=lambda: draw(
            Layout(
                title=f"Viper, figure {question.number}: {question.operator}",
                rows=_rows(question, options, energy, grid),
                notes=figure_notes,
                height_in=1.6,
                width_in=2.7,
            )
        ),
    )


def _notes(
    question: Question, options: Options, runs: Runs, energy: Energy, grid: Grid
) -> tuple[str, ...]:
    counts = {
        layer: [
            threads_.value
            for (name, _), s in grid.threads.items()
            if name == layer
            for n in s.workers(degrees(options))
            if (threads_ := s.at(n)) is not None
        ]
        for layer in FORMS
    }
    threads = "; ".join(
        f"{_TITLES[layer]} {min(values):g} to {max(values):g}"
        for layer, values in counts.items()
        if values
    )
    fewest = min((value for values in counts.values() for value in values), default=0)
    return (
        f"{options.cores} cores here; the paper's machine: 2 x 8 cores, 32 hardware threads "
        "(Xeon E5-2687W), Storm 0.9.7, Java. Its rates and watts are drawn, never judged.",
        f"{OPERATORS.capitalize()} are this lab's, in C++: the paper's OL is Storm, absent here.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees(options)),
        "An injector, an instance, a sink and a merge-sorting operator are a thread each"
        + (f": {threads} threads" if threads else "")
        + ("; everywhere more than the cores." if fewest > options.cores else "."),
        "Published forms deal records in turn, so ties are in any order; own forms deal by time.",
        f"{_events(options):,} records at full speed, handed over one by one, as in the paper. "
        "Latency is from an injector to a sink, mostly time in full channels.",
        *(() if energy.measured else (f"Energy: {NO_COUNTER}.",)),
        *machine(runs),
        *troubles(runs)[:6],
    )


def _rows(question: Question, options: Options, energy: Energy, grid: Grid) -> list[list[Panel]]:
    quantities: list[tuple[str, str, Quantity, bool, Callable[[float], str] | None]] = [
        ("throughput", "tuples/s", grid.rate, False, None),
        ("latency", "latency p50, ms", grid.late, True, plain),
        ("power", energy.y_label, grid.energy, False, plain),
        ("", "context switches per million tuples", grid.switches, True, None),
    ]
    rows = []
    for quantity, y_label, measured, is_log, write in quantities:
        marks = {layer: _marks(question, layer, quantity, energy) for layer in FORMS}
        rows.append(
            [
                Panel(
                    title=_TITLES[layer] if quantity == "throughput" else "",
                    y_label=y_label,
                    x_label="operator instances",
                    lines=_lines(options, layer, measured),
                    marks=marks[layer],
                    words=_words(question, layer, quantity),
                    log_y=is_log,
                    ticks=degrees(options),
                    span=_span(measured, [mark for each in marks.values() for mark in each]),
                    write=write,
                )
                for layer in FORMS
            ]
        )
    return rows


def _lines(options: Options, layer: str, quantity: Quantity) -> list[Line]:
    return [
        Line(
            name=number_of(injectors, "injector"),
            points=[
                replace(point, open=point.open or injectors > options.cores)
                for point in points(quantity[layer, injectors], options)
            ],
            colour=place,
        )
        for place, injectors in enumerate(degrees(options))
    ]


def _span(quantity: Quantity, marks: list[Mark]) -> list[float]:
    """Return the values that all columns must have room for, so that they are comparable."""
    drawn = [
        value
        for each in quantity.values()
        for spreads in each.by_workers.values()
        for spread in spreads
        for value in (spread.low, spread.high)
    ]
    bounds = [value for mark in marks for value in (mark.low, mark.high) if isfinite(value)]
    return drawn + bounds


def _words(question: Question, layer: str, quantity: str) -> list[str]:
    """Return the published numbers about both layers, as texts for a panel."""
    if (layer, quantity) != (CL, "throughput"):
        return []
    most = facts().one(figure=question.number, series="CL/OL", quantity="throughput at its most")
    more = facts().of(figure=question.number, series="CL-OL", quantity=quantity)
    return [
        *(f"published: CL - OL = {fact.text}" for fact in more),
        f"published: CL/OL up to {most.text}",
    ]


def _marks(question: Question, layer: str, quantity: str, energy: Energy) -> list[Mark]:
    if quantity == "power" and not energy.measured:
        return []
    return [
        Mark(
            name=f"{layer}, {fact.x} injector{'s' if fact.x != '1' else ''}: {fact.text}",
            low=fact.low,
            high=fact.high,
            colour=0 if fact.x == "1" else None,
        )
        for fact in facts().of(figure=question.number, series=layer, quantity=quantity)
    ]


def _figure(question: Question) -> Figure:
    return Figure(
        id=f"viper:{question.number}",
        title=f"determinism by channels, CL (OL in Storm: absent), {question.operator}",
        shows="throughput, latency, energy and context switches against injectors and instances",
        needs=(question.workload, LAYERS),
        stages=(
            FigureStage(
                name="layers",
                about="both layers with every number of injectors and instances",
                plan=lambda options, runs: _plan(question, options, runs),
            ),
        ),
        outcome=lambda options, runs: _outcome(question, options, runs),
    )


FIGURES = (_figure(POS_REP), _figure(NEW_SEG))
