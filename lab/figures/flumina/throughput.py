"""Reproduces figures 8 and A1 of DGS: throughput of its three programs, and of outlier detection.

For outlier detection (appendix A.1), the paper reads the KDD Cup's data. This module generates as many
connections as the KDD Cup's 10 % file has.
"""

from collections.abc import Mapping

from streamlab.lab.figures.experiment import (
    degree_panel,
    events,
    numbers,
    outcome,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs, Tree
from streamlab.lab.figures.flumina.paper_setup import (
    DGS,
    FORM_NOTE,
    FORMS,
    ONE_SERVER,
    PAPER,
    PROGRAMS,
    PUBLISHED,
    RATE,
    SERIES,
    SINGLE,
    UNITS,
    WORKERS,
    Program,
    form_engines,
    growth,
    growth_words,
    lines_note,
    notes,
    per_barrier,
    scaling,
    streams,
    synchronizations,
)
from streamlab.lab.figures.measurements import Series, quotient, series
from streamlab.lab.figures.options import Options
from streamlab.reports.figures.paper import Line, Mark, Panel, Point

_EVENTS = (20_000_000, 2_000_000)
"""Events per trial, usually and with `--quick`."""
OUTLIERS = "outlier_detection"
CONNECTIONS_PER_CHECK = 20_000
"""Connections of all streams between two checks. With as many connections as the file has, this gives 25
checks. The public code checks every 1,000 s, on an input without times."""
_CONNECTIONS = (494_021, 100_000)
"""Connections, usually and with `--quick`. The usual number is the rows of the KDD Cup's 10 % file."""
_JUDGED = (PUBLISHED, SINGLE)
"""Form and batch that the claims judge."""


def _rates_by_form(runs: Runs, *keys: str) -> dict[tuple[str, int], Series]:
    """Return the throughput of workloads against workers, by form and batch."""
    return {
        (form, batch): Series(
            {
                n: spreads
                for key in keys
                for n, spreads in _rate(runs, key, form, batch).by_workers.items()
            }
        )
        for form, batch in SERIES
    }


def _rate(runs: Runs, key: str, form: str, batch: int) -> Series:
    return series(runs[0], key, DGS, RATE, options=f"/b{batch}/{form}")


def streams_key(program: Program, workers: int) -> str:
    """Return the key of a program's workload in which each worker has a stream."""
    return f"{program.workload}@of-{workers}"


def _name(form: str, batch: int) -> str:
    return f"{FORMS[form]}, {UNITS[batch]}"


def _tree_8(options: Options) -> Tree:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            program.table(events(options, *_EVENTS), n)
            | {"label": streams_key(program, n).partition("@")[2]}
            for program in PROGRAMS
            for n in options.instances
        ],
        "engine": [
            table | {"workers": [n], "workloads": [f"*@of-{n}"]}
            for table in form_engines(options)
            for n in options.instances
        ],
    }


def _outcome_8(options: Options, runs: Runs) -> Outcome:
    rates = {
        p: _rates_by_form(runs, *(streams_key(p, n) for n in options.instances)) for p in PROGRAMS
    }

    def panel(program: Program, batch: int) -> Panel:
        form_rates = {FORMS[form]: rate for (form, b), rate in rates[program].items() if b == batch}
        words = growth_words(options, form_rates, scaling(program, "DGS"))
        colours = [index for index, name in enumerate(FORMS.values()) if name in form_rates]
        title = f"{program.panel}, {UNITS[batch]}"
        return degree_panel(options, title, "events/s", form_rates, words=words, colours=colours)

    return outcome(
        [
            claim
            for p in PROGRAMS
            for claim in growth(
                options,
                scaling(p, "DGS"),
                rates[p][_JUDGED],
                *synchronizations(runs[0], p.workload, f"/{PUBLISHED}", workers=options.within),
            )
        ],
        notes(
            options,
            runs,
            options.instances,
            "Every input has a stream for each worker, as the paper has for each node, and one of "
            f"synchronizing events, one each {per_barrier():,} events of a stream.",
            f"{FORM_NOTE} From memory, at full speed.",
        ),
        {
            f"{p.panel}, {_name(*form)}": numbers(throughput_eps=rate)
            for p, by_form in rates.items()
            for form, rate in by_form.items()
        },
        "DGS, figure 8: maximum throughput against parallelism",
        [[panel(p, batch) for p in PROGRAMS] for batch in UNITS],
    )


def _tree_a1(options: Options) -> Tree:
    count = streams(options)
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": OUTLIERS,
                "events": events(options, *_CONNECTIONS),
                "params": {
                    "streams": count,
                    "connections_per_check": CONNECTIONS_PER_CHECK // count,
                },
            }
        ],
        "engine": form_engines(options),
    }


def _outcome_a1(options: Options, runs: Runs) -> Outcome:
    by_form = _rates_by_form(runs, OUTLIERS)
    form_rates = {_name(*form): rate for form, rate in by_form.items()}
    speedup, by_hand = (
        PAPER.fact("A1", series=name, quantity="speedup") for name in ("DGS", "handcrafted")
    )
    needs = synchronizations(runs[0], f"/{PUBLISHED}", workers=options.within)
    growth_panel = Panel(
        title="growth",
        y_label="throughput by that of one worker",
        x_label=WORKERS,
        lines=_growth_lines(options, form_rates),
        marks=[
            Mark(name=f"{fact.series}, published", low=fact.low, high=fact.low, x=float(fact.x))
            for fact in (speedup, by_hand)
            if int(fact.x) in options.instances
        ],
        words=[
            *growth_words(options, form_rates, speedup),
            f"by hand in C++, published: {by_hand.text} at {by_hand.x} nodes",
        ],
        ticks=options.instances,
    )
    rates_panel = degree_panel(options, "throughput", "connections/s", form_rates)
    return outcome(
        [
            *growth(options, speedup, by_form[_JUDGED], *needs),
            PAPER.pose("A1", "by hand", None, nodes=by_hand.x),
        ],
        notes(
            options,
            runs,
            options.instances,
            f"Generated connections in {streams(options)} streams, a check each "
            f"{CONNECTIONS_PER_CHECK:,} of all; the paper: the KDD Cup's, on 1 to 8 nodes.",
            f"{FORM_NOTE} From memory, at full speed.",
            lines_note(OUTLIERS),
            machines=ONE_SERVER,
        ),
        {name: numbers(throughput_eps=rate) for name, rate in form_rates.items()},
        "DGS, appendix A.1: outlier detection by workers",
        [[rates_panel, growth_panel]],
        height_in=2.2,
    )


def _growth_lines(options: Options, rates: Mapping[str, Series]) -> list[Line]:
    return [
        Line(
            name=name,
            points=[
                Point(n, gain.value, gain.value, gain.value, n > options.cores)
                for n in rate.by_workers
                if (gain := quotient(rate.at(n), rate.at(1))) is not None
            ],
            colour=colour,
        )
        for colour, (name, rate) in enumerate(rates.items())
    ]


FIGURE_8 = Figure(
    id="flumina:8",
    title="maximum throughput of synchronization plans",
    shows="throughput of event windows, page-view join, fraud detection against workers",
    needs=(*(program.workload for program in PROGRAMS), DGS),
    stages=(stage("rates", "three programs at full speed", _tree_8),),
    outcome=_outcome_8,
)
FIGURE_A1 = Figure(
    id="flumina:A1",
    title="growth of outlier detection with workers",
    shows="throughput and growth of the case study A.1 against workers; lines of code",
    needs=(OUTLIERS, DGS),
    stages=(stage("rates", "outlier detection at full speed", _tree_a1),),
    outcome=_outcome_a1,
)
