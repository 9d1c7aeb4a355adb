"""Reproduces figures 4 and 6 of Data-Trace Types: the throughput of queries in two forms.

Figure 4 shows Yahoo queries. Figure 6 shows how the prediction of power usage scales. Both figures run
each program in two forms, typed and handcrafted. The claims judge Storm, the paper's engine. Rates of this lab's
native engine are drawn, but not judged.
"""

from collections.abc import Iterable
from functools import partial
from importlib import import_module

from streamlab.json_value import JsonObject, JsonValue
from streamlab.lab.figures.experiment import (
    BATCH,
    degree_panel,
    events,
    notes,
    numbers,
    outcome,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Runs
from streamlab.lab.figures.lines import lines_of
from streamlab.lab.figures.measurements import (
    Series,
    Value,
    all_of,
    column,
    per_row,
    quotient,
    series,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.preconditions import outputs, trials, two_degrees
from streamlab.reports.figures.paper import Panel
from streamlab.results.query import by_cell
from streamlab.results.schema import TrialRow
from streamlab.results.stats.estimates import highest, lowest

TYPED, HANDCRAFTED = "typed", "handcrafted"
FORMS = (TYPED, HANDCRAFTED)
STORM, NATIVE = "storm", "multicore"
ENGINES = (STORM, NATIVE)
"""The engine of each stage."""
NAMES = {
    (STORM, TYPED): "typed in Storm",
    (STORM, HANDCRAFTED): "handcrafted in Storm",
    (NATIVE, TYPED): "lab: typed",
    (NATIVE, HANDCRAFTED): "lab: by hand for its own operators",
}
"""Names on the drawing, by engine and form."""
VARIANTS = (
    *("storm/typed", "storm/handcrafted"),
    *("multicore/dataflow", "multicore/vsn", "multicore/ordered"),
)
QUERIES = {
    "I": "ad_enrichment",
    "II": "user_activity",
    "III": "location_history",
    "IV": "campaign_views",
    "V": "campaign_views_tumbling",
    "VI": "user_clusters",
}
"""Workload by the query's number in the paper."""
_TITLES = {
    "I": "I: enrichment",
    "II": "II: a state for each user",
    "III": "III: history of each location",
    "IV": "IV: views, sliding windows",
    "V": "V: views, tumbling windows",
    "VI": "VI: clusters of users",
}
DATABASE = "sqlite"
"""Embedded database for look-ups and for query II's counts, where the paper has Apache Derby."""
PREDICTION = "smart_home_prediction"
_EVENTS = {STORM: (4_000_000, 1_500_000), NATIVE: (8_000_000, 2_000_000)}
"""Events per trial, usually and with `--quick`. 100,000 events span a second; query V has windows of 10 s."""

PAPER = Paper(name="datatrace")
facts = PAPER.facts


def _storm_tree(workloads: Iterable[str], options: Options) -> dict[str, JsonValue]:
    """Return the matrix of Storm: a variant for each form; both variants compute the typed form's result."""
    engine: JsonObject = {"name": STORM, "variants": [*FORMS], "workers": list(options.instances)}
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [_workload_table(workload, STORM, TYPED, options) for workload in workloads],
        "engine": [engine],
    }


def _native_tree(workloads: Iterable[str], options: Options) -> dict[str, JsonValue]:
    """Return the matrix of the native engine, which picks the variant for each form's model."""
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            _workload_table(workload, NATIVE, form, options) | {"label": form}
            for workload in workloads
            for form in FORMS
        ],
        "engine": [{"name": NATIVE, "workers": list(options.instances), "batch": [BATCH]}],
    }


def _workload_table(
    workload: str, engine: str, form: str, options: Options
) -> dict[str, JsonValue]:
    return {
        "name": workload,
        "events": events(options, *_EVENTS[engine], least=1000),
        "params": {"streams": max(options.instances)},
        "query": {"form": form} | _database_parameters(workload),
    }


def _database_parameters(workload: str) -> dict[str, str]:
    """Return the query parameters that put a query's tables or results into the database."""
    if workload == PREDICTION:
        return {}
    return {"persist" if workload == QUERIES["II"] else "lookup": DATABASE}


def _rate(runs: Runs, workload: str, engine: str, form: str) -> Series:
    """Return the throughput of a form, by number of workers."""
    return _form_series(runs, workload, engine, form, column("throughput_eps"))


def _form_series(runs: Runs, workload: str, engine: str, form: str, value: Value) -> Series:
    run = runs[ENGINES.index(engine)]
    if engine == STORM:
        return series(run, workload, f"{STORM}/{form}", value)
    variants = {
        f"{cell.engine}/{cell.variant}"
        for cell in by_cell(run.rows)
        if (cell.workload, cell.label) == (workload, form)
    }
    if not variants:
        return Series({})
    return series(run, f"{workload}@{form}", min(variants), value)


def _numbers(runs: Runs, workload: str, engine: str, form: str) -> dict[str, JsonValue]:
    """Return a form's rate, and its CPU seconds per million events, as JSON values."""

    def cpu_s(row: TrialRow) -> float | None:
        return row.cpu_s / row.events * 1e6 if row.cpu_s and row.events else None

    cpu = _form_series(runs, workload, engine, form, lambda cell: per_row(cell, cpu_s))
    return numbers(throughput_eps=_rate(runs, workload, engine, form), cpu_s_per_million=cpu)


def lines_of_code(workload: str, form: str) -> int:
    """Return the number of lines of code in a form's module."""
    return lines_of(import_module(f"streamlab.workloads.suite.{workload}.{form}"))


def _lines_text(workload: str) -> str:
    return "/".join(str(lines_of_code(workload, form)) for form in FORMS)


def _notes(options: Options, runs: Runs, *extra: str) -> tuple[str, ...]:
    return notes(
        options,
        runs,
        f"All from memory at full speed: Storm one tuple at a time, and judged; this lab's native "
        f"engine in blocks of {BATCH}, and only drawn. Their inputs differ in length.",
        *extra,
        begin=[
            f"{options.cores} cores here; the paper's machines: 1 to 8 virtual machines of 2 CPUs "
            "and 8 GB, Storm, Java, look-ups in Apache Derby."
        ],
    )


def _panel(options: Options, runs: Runs, title: str, y_label: str, workload: str) -> Panel:
    rates = {name: _rate(runs, workload, *form) for form, name in NAMES.items()}
    return degree_panel(options, title, y_label, rates)


def _outcome_4(options: Options, runs: Runs) -> Outcome:
    ratios = {
        number: [
            quotient(*(_rate(runs, workload, STORM, form).at(n) for form in FORMS))
            for n in options.within
        ]
        for number, workload in QUERIES.items()
    }
    needs = {
        number: outputs(trials(runs[0], f"{workload}/", workers=options.within))
        for number, workload in QUERIES.items()
    }
    other_queries = [number for number in QUERIES if number != "I"]
    other_ratios = [ratio for number in other_queries for ratio in ratios[number]]
    claims = [
        PAPER.pose("4", f"{name} {end}", all_of(values, combine), *(needs[n] for n in queries))
        for name, values, queries in (
            ("others", other_ratios, other_queries),
            ("first", ratios["I"], "I"),
        )
        for end, combine in (("lowest", lowest), ("highest", highest))
    ]
    line_counts = "; ".join(f"{number} {_lines_text(name)}" for number, name in QUERIES.items())
    return outcome(
        claims,
        _notes(
            options,
            runs,
            "Look-ups, and query II's counts at each marker, are in SQLite, as part of the measured work.",
            f"Lines of this lab's code, typed/by hand: {line_counts}.",
        ),
        {
            f"query {number}, {name}": _numbers(runs, workload, *form)
            for number, workload in QUERIES.items()
            for form, name in NAMES.items()
        },
        "Data-Trace Types, figure 4: Yahoo queries, typed and by hand",
        [
            [_panel(options, runs, _TITLES[n], "events/s", QUERIES[n]) for n in row]
            for row in (("I", "II", "III"), ("IV", "V", "VI"))
        ],
        height_in=2.2,
    )


def _outcome_6(options: Options, runs: Runs) -> Outcome:
    rate = _rate(runs, PREDICTION, STORM, TYPED)
    fewest, most = rate.ends(options.within)
    growth = PAPER.pose(
        "6",
        "growth",
        quotient(rate.at(most), rate.at(fewest)),
        two_degrees(options, rate),
        outputs(trials(runs[0], f"/{STORM}/{TYPED}/", workers=options.within)),
        fewest=fewest,
        most=most,
        linear=most / fewest,
    )
    return outcome(
        [growth],
        _notes(
            options, runs, f"Lines of this lab's code, typed/by hand: {_lines_text(PREDICTION)}."
        ),
        {name: _numbers(runs, PREDICTION, *form) for form, name in NAMES.items()},
        "Data-Trace Types, figure 6: prediction of power usage",
        [[_panel(options, runs, "smart homes", "readings/s", PREDICTION)]],
    )


def _stages(*workloads: str) -> tuple[FigureStage, ...]:
    return (
        stage("storm", "both forms on Storm, at full speed", partial(_storm_tree, workloads)),
        stage("native", "both forms on the native engine", partial(_native_tree, workloads)),
    )


FIGURES = (
    Figure(
        id="datatrace:4",
        title="Yahoo queries I to VI, typed and handcrafted",
        shows="throughput by workers, of both forms of each query",
        needs=(*QUERIES.values(), *VARIANTS),
        stages=_stages(*QUERIES.values()),
        outcome=_outcome_4,
    ),
    Figure(
        id="datatrace:6",
        title="Prediction of power usage in smart homes, by parallelism",
        shows="throughput by workers, typed and by hand",
        needs=(PREDICTION, *VARIANTS),
        stages=_stages(PREDICTION),
        outcome=_outcome_6,
    ),
)
