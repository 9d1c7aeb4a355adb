"""Reproduces figure 4 of Data-Trace Types: Yahoo queries, typed and by hand for this lab's operators."""

from streamlab.lab.figures.datatrace import systems
from streamlab.lab.figures.datatrace.shared import (
    FORMS,
    HANDCRAFTED,
    NAMES,
    NEEDS,
    TYPED,
    cpu,
    engine_table,
    facts,
    lines_of_code,
    notes,
    rate,
    workload_tables,
)
from streamlab.lab.figures.experiment import asked, numbers, points, run_table
from streamlab.lab.figures.figure import Figure, FigureStage, Outcome, Plan, Runs
from streamlab.lab.figures.judge import Posed, judge
from streamlab.lab.figures.measurements import Measured, all_of, quotient
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import outputs, trials
from streamlab.reports.figures.paper import Layout, Line, Panel, draw
from streamlab.results.stats.estimates import highest, lowest

NUMBER = "4"
QUERIES = {
    "I": "ad_enrichment",
    "II": "user_activity",
    "III": "location_history",
    "IV": "campaign_views",
    "V": "campaign_views_tumbling",
    "VI": "user_clusters",
}
"""Workload by the paper's number of the query."""
_TITLES = {
    "I": "I: enrichment",
    "II": "II: a state for each user",
    "III": "III: history of each location",
    "IV": "IV: views, sliding windows",
    "V": "V: views, tumbling windows",
    "VI": "VI: clusters of users",
}
_NOISE = 0.03
"""Tolerance at a published bound, since equally fast forms lie on the bound."""
_EVENTS, _QUICK_EVENTS = 20_000_000, 4_000_000


def _events(options: Options) -> int:
    if options.scale is not None:
        return max(1000, round(_EVENTS * options.scale))
    return _QUICK_EVENTS if options.quick else _EVENTS


def _plan(options: Options, runs: Runs) -> Plan:
    return Plan(
        tree={
            "run": run_table(options, timeout_s=300),
            "workload": [
                table
                for workload in QUERIES.values()
                for table in workload_tables(workload, _events(options), options)
            ],
            "engine": [engine_table(options)],
        }
    )


def _ratio(runs: Runs, number: str, workers: int) -> Measured | None:
    """Return the ratio of typed to handcrafted throughput."""
    rates = {form: rate(runs, QUERIES[number], form).at(workers) for form in FORMS}
    return quotient(rates[TYPED], rates[HANDCRAFTED])


def _claims(options: Options, runs: Runs) -> list[Posed]:
    within = [n for n in options.instances if n <= options.cores]
    every = facts().one(figure=NUMBER, panel="all", series="typed/handcrafted")
    first = facts().one(figure=NUMBER, panel="query I", series="typed/handcrafted")
    other_ratios = [_ratio(runs, number, n) for number in QUERIES if number != "I" for n in within]
    first_ratios = [_ratio(runs, "I", n) for n in within]
    by_query = {
        number: outputs(trials(runs[0], f"{workload}@", workers=within))
        for number, workload in QUERIES.items()
    }
    others = {number: need for number, need in by_query.items() if number != "I"}
    return [
        asked("typed throughput by handcrafted, lowest of queries II to VI", every)
        .between(systems.TYPED, systems.HANDCRAFTED)
        .given(*others.values())
        .near(all_of(other_ratios, lowest), every.low, every.high, _NOISE, "x"),
        asked("typed throughput by handcrafted, highest of queries II to VI", every)
        .between(systems.TYPED, systems.HANDCRAFTED)
        .given(*others.values())
        .near(all_of(other_ratios, highest), every.low, every.high, _NOISE, "x"),
        asked("typed throughput by handcrafted, query I, lowest", first)
        .between(systems.TYPED, systems.HANDCRAFTED)
        .given(by_query["I"])
        .near(all_of(first_ratios, lowest), first.low, first.high, _NOISE, "x"),
        asked("typed throughput by handcrafted, query I, highest", first)
        .between(systems.TYPED, systems.HANDCRAFTED)
        .given(by_query["I"])
        .near(all_of(first_ratios, highest), first.low, first.high, _NOISE, "x"),
    ]


def _outcome(options: Options, runs: Runs) -> Outcome:
    lines = {
        number: tuple(lines_of_code(workload, form) for form in FORMS)
        for number, workload in QUERIES.items()
    }
    line_counts = "; ".join(f"{number} {a}/{b}" for number, (a, b) in lines.items())
    figure_notes = notes(
        options,
        runs,
        options.instances,
        "Query II keeps its intermediate results in memory, where the paper writes them to a "
        "database (query parameter persist).",
        f"Lines of code, typed/handcrafted: {line_counts}.",
    )
    return Outcome(
        claims=judge(_claims(options, runs)),
        notes=figure_notes,
        numbers={
            f"query {number}, {NAMES[form]}": {
                **numbers(
                    throughput_eps=rate(runs, workload, form),
                    cpu_s_per_million=cpu(runs, workload, form),
                ),
                "lines_of_code": lines[number][FORMS.index(form)],
            }
            for number, workload in QUERIES.items()
            for form in FORMS
        },
        draw=lambda: draw(
            Layout(
                title="Data-Trace Types, figure 4: Yahoo queries, typed (by hand in Storm: absent)",
                rows=[
                    [_panel(options, runs, number) for number in row]
                    for row in (("I", "II", "III"), ("IV", "V", "VI"))
                ],
                notes=figure_notes,
                height_in=2.2,
            )
        ),
    )


def _panel(options: Options, runs: Runs, number: str) -> Panel:
    return Panel(
        title=_TITLES[number],
        y_label="events/s",
        x_label="workers",
        lines=[
            Line(
                name=NAMES[form],
                points=points(rate(runs, QUERIES[number], form), options),
                colour=place,
            )
            for place, form in enumerate(FORMS)
        ],
        ticks=options.instances,
    )


YAHOO = Figure(
    id=f"datatrace:{NUMBER}",
    title="Yahoo queries I to VI, typed (handcrafted in Storm: absent)",
    shows="throughput by workers, of both forms of each query",
    needs=(*QUERIES.values(), *NEEDS),
    stages=(
        FigureStage(name="queries", about="both forms of six queries at full speed", plan=_plan),
    ),
    outcome=_outcome,
)
