"""Provides both forms of a program with their rates and lines of code, for Data-Trace Types' figures."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from streamlab.lab.figures.experiment import BATCH, beyond_note, quick_note, scale_note
from streamlab.lab.figures.figure import Runs
from streamlab.lab.figures.lines import lines_of
from streamlab.lab.figures.measurements import (
    Series,
    Value,
    column,
    machine,
    per_row,
    series,
    troubles,
)
from streamlab.lab.figures.options import Options
from streamlab.reports.published import Facts, published
from streamlab.results.query import by_cell
from streamlab.results.schema import TrialRow

TYPED, HANDCRAFTED = "typed", "handcrafted"
FORMS = (TYPED, HANDCRAFTED)
NAMES = {TYPED: "typed", HANDCRAFTED: "lab: by hand for its own operators"}
"""Names on the drawing; the paper's handcrafted form runs on Storm and is absent."""
ENGINE = "multicore"
NEEDS = ("multicore/dataflow", "multicore/vsn", "multicore/ordered")


def facts() -> Facts:
    """Return the paper's published numbers."""
    return published("datatrace")


def workload_tables(workload: str, events: int, options: Options) -> list[dict[str, Any]]:
    """Return a `[[workload]]` table for each form of a program, on the same input."""
    streams = max(options.instances)
    return [
        {
            "name": workload,
            "label": form,
            "events": events,
            "params": {"streams": streams},
            "query": {"form": form},
        }
        for form in FORMS
    ]


def engine_table(options: Options) -> dict[str, Any]:
    """Return the `[[engine]]` table; the engine picks the variant for each form's model."""
    return {"name": ENGINE, "workers": list(options.instances), "batch": [BATCH]}


def rate(runs: Runs, workload: str, form: str) -> Series:
    """Return the throughput of a form, by number of workers."""
    return of_form(runs, workload, form, column("throughput_eps"))


def cpu(runs: Runs, workload: str, form: str) -> Series:
    """Return the CPU seconds of a form for a million events, by number of workers."""

    def cpu_s(row: TrialRow) -> float | None:
        return row.cpu_s / row.events * 1e6 if row.cpu_s and row.events else None

    return of_form(runs, workload, form, lambda cell: per_row(cell, cpu_s))


def of_form(runs: Runs, workload: str, form: str, value: Value) -> Series:
    """Return a quantity of a form, by number of workers."""
    key = f"{workload}@{form}"
    variants = {
        f"{cell.engine}/{cell.variant}"
        for cell in by_cell(runs[0].rows)
        if (cell.workload, cell.label) == (workload, form)
    }
    if not variants:
        return Series({})
    return series(runs[0], key, min(variants), value)


def lines_of_code(workload: str, form: str) -> int:
    """Return the number of lines of code in a form's module."""
    return lines_of(import_module(f"streamlab.workloads.suite.{workload}.{form}"))


def notes(options: Options, runs: Runs, degrees: Iterable[int], *more: str) -> tuple[str, ...]:
    """Return notes on differences from the paper's experiment."""
    return (
        f"{options.cores} cores here; the paper's machines: 1 to 8 virtual machines of 2 CPUs and "
        "8 GB, Storm, Java, look-ups in Apache Derby.",
        *quick_note(options),
        *scale_note(options),
        *beyond_note(options, degrees),
        "By hand: for this lab's own operators; the paper's handcrafted form, in Storm, is absent.",
        f"Both forms run on this lab's native engine, in blocks of {BATCH}, from memory at full "
        "speed; look-ups are in tables in memory.",
        *more,
        *machine(runs),
        *troubles(runs)[:6],
    )
