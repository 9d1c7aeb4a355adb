"""Reads the numbers of figures 4a and 4b of Viper: all injectors by all instances."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.measurements import Series, Value, column, counter, series
from streamlab.lab.figures.options import Options
from streamlab.reports.published import Facts, published

LAYERS = "multicore/layers"
CL, OL = "CL", "OL"
OWN_CL, OWN_OL = "CL, own", "OL, own"
FORMS: Mapping[str, Mapping[str, str]] = {
    CL: {"determinism": "communication", "channels": "scalegate", "dealing": "turn"},
    OL: {"determinism": "operator", "merge_unit": "tuple", "dealing": "turn"},
    OWN_CL: {"determinism": "communication"},
    OWN_OL: {"determinism": "operator"},
}
"""Options by layer: the paper's published forms, which the claims judge, and this lab's own forms,
which are only drawn."""
DEGREES = (1, 2, 4, 6)
"""The paper's numbers of injectors and of instances."""
QUICK_DEGREES = (1, 2, 4)
NO_COUNTER = "no energy counter can be read here; CPU time a tuple replaces it"
RATE = column("throughput_eps")
LATENCY = column("latency_p50_ns", 1e-6)
SWITCHES = counter("switches_per_mtuple")
THREADS = counter("threads")

Quantity = Mapping[tuple[str, int], Series]
"""A quantity against instances, by layer and number of injectors."""


def label(layer: str) -> str:
    """Return the label of a layer's cells in the matrix."""
    return "-".join(reversed(layer.lower().split(", ")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The differences between figures 4a and 4b."""

    number: str
    workload: str
    operator: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """The quantity drawn as energy: power if a counter was read, else CPU time a tuple."""

    measured: bool
    name: str
    y_label: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All measured quantities of a figure."""

    rate: Quantity
    late: Quantity
    energy: Quantity
    switches: Quantity
    threads: Quantity


POS_REP = Question(
    number="4a",
    workload="linear_road_pos_rep",
    operator="pos_rep (stateless, selectivity 0.99)",
    source="section 4.1",
)
NEW_SEG = Question(
    number="4b",
    workload="linear_road_new_seg",
    operator="new_seg (a state for each vehicle, selectivity 0.34)",
    source="section 4.2",
)


def facts() -> Facts:
    """Return the paper's published numbers."""
    return published("viper")


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of injectors and of instances: the chosen ones or the paper's."""
    if options.workers is not None:
        return options.instances
    return QUICK_DEGREES if options.quick else DEGREES


def energy_of(runs: Runs) -> Energy:
    """Return the quantity for energy: CPU time if the run's machine has no counter."""
    if any(row.power_w is not None for row in runs[0].rows):
        return Energy(
            measured=True, name="power", y_label="power (RAPL), W", value=column("power_w")
        )
    return Energy(
        measured=False,
        name="CPU time a tuple",
        y_label="CPU-seconds per million tuples",
        value=counter("graph_cpu_s_per_mtuple"),
    )


def grid_of(question: Question, options: Options, runs: Runs) -> Grid:
    """Return all quantities of a run."""

    def quantity(value: Value) -> Quantity:
        return {
            (layer, injectors): series(
                runs[0],
                f"{question.workload}@i{injectors}",
                LAYERS,
                value,
                options=f"/{label(layer)}",
            )
            for layer in FORMS
            for injectors in degrees(options)
        }

    return Grid(
        rate=quantity(RATE),
        late=quantity(LATENCY),
        energy=quantity(energy_of(runs).value),
        switches=quantity(SWITCHES),
        threads=quantity(THREADS),
    )
