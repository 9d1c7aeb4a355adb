"""Defines the forms of the paper's three programs, and the matrix of figures 4 and 6 and table 1.

- F: Flink by itself.
- FM: Flink with synchronization by hand.
- DGS: synchronization plans as published.
- OWN: this lab's form of synchronization plans.
- TD: Timely Dataflow by itself.
- TDM: Timely Dataflow with a partition that the program knows; only for the join.
"""

from collections.abc import Collection

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import events, run_table
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.flumina.paper_setup import (
    DGS,
    FORMS,
    JOIN,
    OWN,
    PAPER,
    PUBLISHED,
    RATE,
    SINGLE,
    Program,
    form_engine,
    streams,
)
from streamlab.lab.figures.measurements import Series, cells, series
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import trials
from streamlab.results.query import CellSummary
from streamlab.results.schema import TrialRow

_SYSTEMS = ("F", "FM", "TD", "TDM", "DGS")
VARIANTS = {form: PAPER.systems[form].variant for form in _SYSTEMS} | {OWN: DGS}
"""This lab's engine variant for each form."""
NAMES = {form: PAPER.systems[form].name for form in _SYSTEMS} | {OWN: f"DGS, {FORMS[OWN]}"}
PARTS = {"DGS": f"/{PUBLISHED}", OWN: f"/{OWN}"}
"""Part of the cell ids that identifies a form, for forms that share a variant."""
BLOCKS_NOTE = (
    "Timely groups events by logical time, so its sources send blocks, as in the paper: compare its "
    "growth with that of others, not its rate."
)
EVEN, UNEVEN = "even", "uneven"
"""Inputs. EVEN has as many streams as the highest number of workers; UNEVEN has one stream more, so
that a worker has two."""
_EVENTS = (16_000_000, 4_000_000)
"""Events per trial, usually and with `--quick`."""


def degrees(options: Options) -> tuple[int, ...]:
    """Return the numbers of workers; the default includes one more than the cores, for uneven shares."""
    return options.instances_and(options.cores + 1)


def tree(
    options: Options, programs: Collection[Program], forms: Collection[str], inputs: Collection[str]
) -> dict[str, JsonValue]:
    """Return the matrix: all numbers of workers on even input, only the highest number on uneven input."""
    labels = {EVEN: degrees(options), UNEVEN: (max(degrees(options)),)}
    return {
        "run": run_table(options, timeout_s=300),
        "workload": [
            program.table(events(options, *_EVENTS), streams(options) + (label == UNEVEN))
            | {"label": label}
            for program in programs
            for label in inputs
        ],
        "engine": [
            _engine(form, options)
            | {
                "workers": list(labels[label]),
                "workloads": [f"{JOIN.workload if form == 'TDM' else '*'}@{label}"],
            }
            for form in forms
            for label in inputs
        ],
    }


def rate(runs: Runs, program: Program, form: str, label: str = EVEN) -> Series:
    """Return the throughput of a form by workers."""
    key = f"{program.workload}@{label}"
    return series(runs[0], key, VARIANTS[form], RATE, options=PARTS.get(form, ""))


def missing_forms(runs: Runs, forms: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each form that did not run, with the engine's reason."""
    notes = []
    for form in forms:
        rows = [
            row
            for row in runs[0].rows
            if f"{row.engine}/{row.variant}" == VARIANTS[form] and PARTS.get(form, "") in row.cell
        ]
        if rows and all(row.status == "unsupported" for row in rows):
            reason = min(str(row.reason).splitlines()[0] for row in rows)
            notes.append(f"{NAMES[form]} did not run: {reason}")
    return tuple(notes)


def rows_of(runs: Runs, program: Program, form: str, options: Options) -> list[TrialRow]:
    """Return the verified trials of a form on even input, within the cores."""
    return trials(
        runs[0],
        f"{program.workload}@{EVEN}/",
        f"/{VARIANTS[form]}/",
        PARTS.get(form, ""),
        workers=options.within,
    )


def form_cells(runs: Runs, program: Program, form: str, label: str) -> list[CellSummary]:
    """Return the cells of a form on an input, of any status."""
    of_form = cells(runs[0], f"{program.workload}@{label}", VARIANTS[form])
    return [cell for cell in of_form if PARTS.get(form, "") in cell.cell]


def _engine(form: str, options: Options) -> dict[str, JsonValue]:
    name, variant = VARIANTS[form].split("/")
    table: dict[str, JsonValue] = {"name": name, "variants": [variant]}
    if form in PARTS:
        return form_engine(PUBLISHED if form == "DGS" else OWN, options, batch=[SINGLE])
    return table | {"options": dict(PAPER.systems[form].options)}
