"""Reproduces figures 4a and 4b of Viper: determinism in the operator layer (OL) or in the communication layer (CL).

Both layers run in Storm, as in the paper; the claims judge these runs. This lab's native engine runs the layers as
published and in its own forms; these runs are only drawn. The runs combine every number of injectors with every
number of operator instances, at full speed. With one injector and one instance nothing is merged, and both layers are
the same graph.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from statistics import median

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import (
    engine,
    events,
    lines,
    notes,
    numbers,
    outcome,
    plain,
    run_table,
    stage,
)
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.measurements import (
    Measured,
    Series,
    Value,
    all_of,
    column,
    counter,
    quotient,
    series,
)
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.paper import Paper
from streamlab.lab.figures.preconditions import outputs, several_workers, sweep_points, trials
from streamlab.lab.figures.viper.over_time import (
    TrialCourse,
    as_numbers,
    read_courses,
    rows_over_time,
)
from streamlab.reports.figures.paper import Line, Mark, Panel
from streamlab.reports.numbers import number_of
from streamlab.results.stats.estimates import Estimate, Extreme, Monotone, highest, lowest

NATIVE, STORM = "multicore/layers", "storm/layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A layer as a variant runs it.

    Attributes:
        variant: the `engine/variant`.
        options: the options that make the variant this layer.
        title: what orders the tuples, for the drawing.
    """

    variant: str
    options: Mapping[str, str]
    title: str


CL, OL = "CL", "OL"
FORMS: Mapping[str, Form] = {
    CL: Form(
        variant=STORM,
        options={"determinism": "communication", "dealing": "turn"},
        title="CL in Storm: ScaleGate as channels",
    ),
    OL: Form(
        variant=STORM,
        options={"determinism": "operator", "dealing": "turn"},
        title="OL in Storm: merge-sorting bolts",
    ),
    "CL, native": Form(
        variant=NATIVE,
        options={"determinism": "communication", "channels": "scalegate", "dealing": "turn"},
        title="CL, native: ScaleGate as channels",
    ),
    "OL, native": Form(
        variant=NATIVE,
        options={"determinism": "operator", "merge_unit": "tuple", "dealing": "turn"},
        title="OL, native: merging a tuple at a time",
    ),
    "CL, own": Form(
        variant=NATIVE,
        options={"determinism": "communication"},
        title="CL, own: logs as channels",
    ),
    "OL, own": Form(
        variant=NATIVE,
        options={"determinism": "operator"},
        title="OL, own: merging by runs",
    ),
}
"""Forms by layer. The claims judge CL and OL; the other forms, in this lab's native engine, are only drawn."""
DEGREES = (1, 2, 4, 6)
"""The paper's numbers of injectors and of instances."""
QUICK_DEGREES = (1, 2, 4)
_RECORDS: Mapping[str, tuple[int, int]] = {
    STORM: (8_000_000, 1_000_000),
    NATIVE: (40_000_000, 10_000_000),
}
"""Records per trial, by variant: usually, and with `--quick`. A trial takes some ten seconds."""

PAPER = Paper(name="viper")
facts = PAPER.facts

VARIANTS = (STORM, NATIVE)
"""The variant of each stage."""

Quantity = Mapping[tuple[str, int], Series]
"""A quantity against instances, by layer and number of injectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The values in which figures 4a and 4b differ; each figure is one `Question`."""

    number: str
    workload: str
    operator: str
    section: str


QUESTIONS = (
    Question(
        number="4a",
        workload="linear_road_pos_rep",
        operator="pos_rep (stateless, selectivity 0.99)",
        section="section 4.1",
    ),
    Question(
        number="4b",
        workload="linear_road_new_seg",
        operator="new_seg (a state for each vehicle, selectivity 0.34)",
        section="section 4.2",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """The quantity drawn as energy: power if a counter was read, else CPU time per tuple.

    Attributes:
        measured: whether the quantity is from an energy counter.
        name: the quantity's name in claims.
    """

    measured: bool
    name: str
    y_label: str
    value: Value


TUPLE_ENERGY = column("energy_j_per_1000")
"""Millijoules per tuple: the column has joules per 1,000 tuples."""
POWER = Energy(measured=True, name="power", y_label="power (RAPL), W", value=column("power_w"))
CPU_TIME = Energy(
    measured=False,
    name="CPU time a tuple",
    y_label="CPU-seconds per million tuples",
    value=counter("graph_cpu_s_per_mtuple"),
)


def label(layer: str) -> str:
    """Return the label of a layer's cells in the matrix."""
    return "-".join(reversed(layer.lower().split(", ")))


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of injectors and of instances: the chosen ones or the paper's."""
    if options.workers is not None:
        return options.instances
    return QUICK_DEGREES if options.quick else DEGREES


def _records(variant: str, options: Options) -> int:
    return events(options, *_RECORDS[variant], least=1000)


def _tree(question: Question, variant: str, options: Options) -> dict[str, JsonValue]:
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            {
                "name": question.workload,
                "label": f"i{injectors}",
                "events": _records(variant, options),
                "params": {"streams": injectors},
            }
            for injectors in degrees(options)
        ],
        "engine": [
            engine(
                variant,
                options,
                workers=list(degrees(options)),
                batch=[1],  # the paper hands over single tuples
                options=dict(form.options),
                label=label(layer),
            )
            for layer, form in FORMS.items()
            if form.variant == variant
        ],
    }


def _outcome(question: Question, options: Options, runs: Runs) -> Outcome:
    has_power = any(row.power_w is not None for run in runs for row in run.rows)
    energy = POWER if has_power else CPU_TIME

    def quantity(value: Value) -> Quantity:
        return {
            (layer, injectors): series(
                runs[VARIANTS.index(form.variant)],
                f"{question.workload}@i{injectors}",
                form.variant,
                value,
                options=f"/{label(layer)}",
            )
            for layer, form in FORMS.items()
            for injectors in degrees(options)
        }

    rate, latency = quantity(column("throughput_eps")), quantity(column("latency_p50_ns", 1e-6))
    energies, switches = quantity(energy.value), quantity(counter("switches_per_mtuple"))
    threads = quantity(counter("threads"))
    quantities: list[tuple[str, str, Quantity, bool, Callable[[float], str] | None]] = [
        ("throughput", "tuples/s", rate, False, None),
        ("latency", "latency p50, ms", latency, True, plain),
        ("power", energy.y_label, energies, False, plain),
        ("", "context switches per million tuples", switches, True, None),
    ]
    tuple_energy: dict[str, Quantity] = {}
    if energy.measured:
        tuple_energy["energy_mj_per_tuple"] = quantity(TUPLE_ENERGY)
        drawn = tuple_energy["energy_mj_per_tuple"]
        quantities.insert(3, ("energy", "energy of a tuple (RAPL), mJ", drawn, False, plain))
    courses = _read_courses(question, options, runs)
    over_time = rows_over_time(
        [
            {number_of(i, "injector"): courses[layer, i] for i in degrees(options)}
            for layer in FORMS
        ],
        [form.variant for form in FORMS.values()],
    )
    return outcome(
        _claims(question, options, runs, energy, rate, latency, energies),
        _notes(options, runs, energy, threads),
        {
            f"{layer}, {injectors} injectors": numbers(
                throughput_eps=rate[layer, injectors],
                latency_ms=latency[layer, injectors],
                **{energy.y_label: energies[layer, injectors]},
                **{name: joules[layer, injectors] for name, joules in tuple_energy.items()},
                switches_per_mtuple=switches[layer, injectors],
                threads=threads[layer, injectors],
            )
            | as_numbers(courses[layer, injectors])
            for layer, injectors in rate
        },
        f"Viper, figure {question.number}: {question.operator}",
        [*(_make_row(question, options, energy, *each) for each in quantities), *over_time],
        height_in=1.6,
        width_in=2.7,
    )


def _read_courses(
    question: Question, options: Options, runs: Runs
) -> Mapping[tuple[str, int], Sequence[TrialCourse]]:
    """Return the courses of the trials with most instances, by layer and number of injectors."""
    courses: dict[tuple[str, int], Sequence[TrialCourse]] = {}
    for layer, form in FORMS.items():
        run = runs[VARIANTS.index(form.variant)]
        for injectors in degrees(options):
            key = f"{question.workload}@i{injectors}/"
            parts = f"/{form.variant}/", f"/{label(layer)}"
            rows = trials(run, key, *parts, workers=degrees(options)[-1:])
            courses[layer, injectors] = read_courses(run, rows)
    return courses


def _claims(
    question: Question,
    options: Options,
    runs: Runs,
    energy: Energy,
    rate: Quantity,
    latency: Quantity,
    energies: Quantity,
) -> list[MeasuredClaim]:
    """Pose the claims on configurations whose injectors and instances do not exceed the cores."""
    rows = [
        row
        for layer in (CL, OL)
        for row in trials(runs[0], f"/{STORM}/", f"/{label(layer)}", workers=options.within)
    ]
    # With one injector and one instance nothing is merged.
    needs = (several_workers(options, degrees(options)), outputs(rows))
    pose = partial(PAPER.pose, question.number)
    section = question.section
    within = [n for n in degrees(options) if n <= options.cores]
    single, several = [1] if 1 in within else [], [n for n in within if n > 1]

    def ratios(quantity: Quantity) -> list[Measured | None]:
        """Return the ratio of CL to OL for each configuration with several injectors."""
        return [
            quotient(quantity[CL, i].at(n), quantity[OL, i].at(n)) for i in several for n in within
        ]

    def best(injectors: Sequence[int]) -> Measured | None:
        """Return the ratio of CL's highest rate to OL's highest."""
        highest_rates = []
        for layer in (CL, OL):
            values = [rate[layer, i].at(n) for i in injectors for n in within]
            present = tuple(value for value in values if value is not None)
            highest_rates.append(Extreme(present, highest=True) if present else None)
        return quotient(*highest_rates)

    merged_ratios = [
        quotient(rate[CL, i].at(n), rate[OL, i].at(n))
        for i in within
        for n in within
        if i > 1 or n > 1
    ]
    energy_ratio = all_of(ratios(energies), _middle)
    counter_need = sweep_points("energy counters that can be read", int(energy.measured), 1)
    claims = [
        pose("throughput of all", all_of(merged_ratios, lowest), *needs, section=section),
        pose("highest throughput", all_of(merged_ratios, highest), *needs),
        pose("latency", all_of(ratios(latency), _middle), *needs, section=section),
        pose("energy", energy_ratio, *needs, section=section, energy=energy.name),
        pose("power", energy_ratio if energy.measured else None, *needs, counter_need),
    ]
    if question.number == "4a":
        claims += [
            pose("best with one injector", best(single), *needs),
            pose("best with several injectors", best(several), *needs),
        ]
    return claims


def _middle(parts: Sequence[Estimate]) -> Estimate:
    """Return the median of several quantities."""
    return Monotone(median, tuple(parts))


def _notes(options: Options, runs: Runs, energy: Energy, threads: Quantity) -> tuple[str, ...]:
    counts = {
        layer: [
            value.value
            for (name, _), by_instances in threads.items()
            if name == layer
            for n in by_instances.workers(degrees(options))
            if (value := by_instances.at(n)) is not None
        ]
        for layer in FORMS
    }
    ranges = "; ".join(
        f"{layer} {min(values):g} to {max(values):g}" for layer, values in counts.items() if values
    )
    fewest = min((value for values in counts.values() for value in values), default=0)
    no_counter = "Energy: no energy counter can be read here; CPU time a tuple replaces it."
    return notes(
        options,
        runs,
        "An injector, an instance, a sink and a merge-sorting operator are a thread each"
        + (f": {ranges} threads" if ranges else "")
        + ("; everywhere more than the cores." if fewest > options.cores else "."),
        "Published forms deal records in turn, so ties are in any order; own forms deal by time.",
        f"{_records(STORM, options):,} records in Storm and {_records(NATIVE, options):,} in the native engine, "
        "at full speed, handed over one by one, as in the paper. Latency is from an injector to a "
        "sink, mostly time in full channels.",
        f"Over time: the first trial with {number_of(degrees(options)[-1], 'instance')}. Rates are those at which "
        "injectors emit in periods of 5 s; a latency is the mean of a second's medians of 100 ms.",
        *(() if energy.measured else (no_counter,)),
        begin=[
            f"{options.cores} cores here; the paper's machine: 2 x 8 cores, 32 hardware threads "
            "(Xeon E5-2687W), Storm 0.9.7, Java. Its rates and watts are drawn, never judged.",
            "CL and OL run in Storm 2.8.2; only they are judged. The native engine's forms are drawn.",
        ],
        degrees=degrees(options),
    )


def _make_row(
    question: Question,
    options: Options,
    energy: Energy,
    quantity: str,
    y_label: str,
    measured: Quantity,
    is_log: bool,
    write: Callable[[float], str] | None,
) -> list[Panel]:
    """Return one panel per layer of a quantity, all on one scale."""
    hidden = quantity == "power" and not energy.measured
    published = facts().of(figure=question.number, quantity=quantity) if not hidden else ()
    marks = {
        layer: [
            Mark(
                name=f"{layer}, {fact.x} injector{'s' if fact.x != '1' else ''}: {fact.text}",
                low=fact.low,
                high=fact.high,
                colour=0 if fact.x == "1" else None,
            )
            for fact in published
            if fact.series == layer
        ]
        for layer in FORMS
    }
    return [
        Panel(
            title=form.title if quantity == "throughput" else "",
            y_label=y_label,
            x_label="operator instances",
            lines=_make_lines(options, layer, measured),
            marks=marks[layer],
            words=_published_texts(question) if (layer, quantity) == (CL, "throughput") else [],
            log_y=is_log,
            ticks=degrees(options),
            span=_span(form.variant, measured, marks),
            write=write,
        )
        for layer, form in FORMS.items()
    ]


def _span(variant: str, measured: Quantity, marks: Mapping[str, Sequence[Mark]]) -> Sequence[float]:
    """Return the values that set the scale of a variant's panels; Storm's rates are a tenth of the native engine's."""
    layers = [layer for layer, form in FORMS.items() if form.variant == variant]
    span = [
        value
        for (layer, _), series in measured.items()
        if layer in layers
        for spreads in series.by_workers.values()
        for spread in spreads
        for value in (spread.low, spread.high)
    ]
    mark_values = [v for layer in layers for m in marks[layer] for v in (m.low, m.high)]
    return span + [value for value in mark_values if isfinite(value)]


def _make_lines(options: Options, layer: str, quantity: Quantity) -> list[Line]:
    by_injectors = {number_of(i, "injector"): quantity[layer, i] for i in degrees(options)}
    return [
        replace(line, points=[replace(p, open=p.open or i > options.cores) for p in line.points])
        for i, line in zip(degrees(options), lines(by_injectors, options), strict=True)
    ]


def _published_texts(question: Question) -> list[str]:
    """Return the published numbers about both layers, as texts for a panel."""
    differences = facts().of(figure=question.number, series="CL-OL", quantity="throughput")
    most = PAPER.fact(question.number, series="CL/OL", quantity="throughput at its most")
    return [
        *(f"published: CL - OL = {fact.text}" for fact in differences),
        f"published: CL/OL up to {most.text}",
    ]


def _figure(question: Question) -> Figure:
    return Figure(
        id=f"viper:{question.number}",
        title=f"determinism by channels, CL, and by operators, OL: {question.operator}",
        shows="throughput, latency, energy and context switches against injectors and instances",
        needs=(question.workload, *VARIANTS),
        stages=tuple(
            stage(
                variant.partition("/")[0],
                f"every number of injectors and instances, {variant}",
                partial(_tree, question, variant),
            )
            for variant in VARIANTS
        ),
        outcome=partial(_outcome, question),
    )


FIGURES = tuple(map(_figure, QUESTIONS))
