"""Reproduces table 1 of DGS: the platform independence (PIP1 to PIP3) of programs, and their scaling.

A property holds if the engine declares it and the runs confirm it. The answers must be right with every
number of workers (PIP1), with another partition into streams (PIP2), and in all trials (PIP3).
Runs cannot show whether a program mentions workers or partitions. A property may therefore be missing
only because the engine does not declare it.
"""

import json
from collections.abc import Mapping

from streamlab.json_value import JsonValue
from streamlab.lab.figures.experiment import numbers, outcome, stage
from streamlab.lab.figures.figure import Figure, Outcome, Runs
from streamlab.lab.figures.flumina.forms import (
    BLOCKS_NOTE,
    EVEN,
    NAMES,
    UNEVEN,
    VARIANTS,
    degrees,
    form_cells,
    missing_forms,
    rate,
    rows_of,
    tree,
)
from streamlab.lab.figures.flumina.paper_setup import (
    FORM_NOTE,
    NODES,
    OWN,
    PAPER,
    PROGRAMS,
    Program,
    facts,
    growth,
    lines_note,
    notes,
)
from streamlab.lab.figures.judge import MeasuredClaim
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.preconditions import Need, outputs, sweep_points
from streamlab.reports.figures.paper import Line, Mark, Panel, Point
from streamlab.reports.published import Fact
from streamlab.results.schema import VERIFIED, TrialRow
from streamlab.results.stats.estimates import Level

PIPS = ("PIP1", "PIP2", "PIP3")
_WRONG = "wrong_output"


def _tree(options: Options) -> dict[str, JsonValue]:
    return tree(options, PROGRAMS, VARIANTS, (EVEN, UNEVEN))


def properties(runs: Runs, program: Program, form: str) -> tuple[Mapping[str, bool], ...]:
    """Return PIP1 to PIP3 of a form for each repetition in which all its answers were compared.

    PIP1 uses only the even input, whose cells differ in workers. PIP2 and PIP3 use both inputs.
    """
    by_input = {label: _rows(runs, program, form, label) for label in (EVEN, UNEVEN)}
    results = []
    for number in dict.fromkeys(row.repetition for row in by_input[EVEN]):
        even, uneven = (
            [row for row in by_input[label] if row.repetition == number] for label in (EVEN, UNEVEN)
        )
        rows = [*even, *uneven]
        if not uneven or not all(map(_is_compared, rows)):
            continue
        results.append(
            {
                pip: all(row.status in VERIFIED for row in (even if pip == "PIP1" else rows))
                and all(_declares(row, pip) for row in rows)
                for pip in PIPS
            }
        )
    return tuple(results)


def _rows(runs: Runs, program: Program, form: str, label: str) -> list[TrialRow]:
    return [row for cell in form_cells(runs, program, form, label) for row in cell.rows]


def _is_compared(row: TrialRow) -> bool:
    """Return whether the trial's answer was compared with the oracle's."""
    return row.status in VERIFIED or row.status == _WRONG


def _need_outputs(runs: Runs, program: Program, form: str) -> Need:
    """Return the need for non-empty answers: comparing an empty answer shows nothing."""
    rows = [
        row
        for label in (EVEN, UNEVEN)
        for row in _rows(runs, program, form, label)
        if _is_compared(row)
    ]
    full = sum(row.status == _WRONG or bool(row.outputs) for row in rows)
    return Need(quantity="trials whose answer is not empty", count=full, least=max(1, len(rows)))


def _declares(row: TrialRow, pip: str) -> bool:
    """Return whether the engine declares that a property holds."""
    declaration = json.loads(row.properties or "{}").get(pip)
    return bool(declaration and declaration["holds"])


def _published_forms(program: Program) -> dict[str, Fact]:
    """Return a program's forms in table 1 with their scaling."""
    scales = facts().of(figure="T1", panel=program.panel, quantity="scaling")
    return {fact.series: fact for fact in scales}


def _all_forms(program: Program) -> tuple[str, ...]:
    """Return a program's forms in table 1, and this lab's own."""
    return (*_published_forms(program), OWN)


def _claims(options: Options, runs: Runs, program: Program) -> list[MeasuredClaim]:
    claims: list[MeasuredClaim] = []
    for form, scales in _published_forms(program).items():
        words = {"panel": program.panel, "series": form, "name": NAMES[form]}
        place = {"panel": program.panel, "series": form}
        published = {pip: bool(PAPER.fact("T1", quantity=pip, **place).low) for pip in PIPS}
        compared = [
            cell
            for cell in form_cells(runs, program, form, EVEN)
            if any(map(_is_compared, cell.rows))
        ]
        agree = tuple(
            float(sum(held[pip] == published[pip] for pip in PIPS))
            for held in properties(runs, program, form)
        )
        claims.append(
            PAPER.pose(
                "T1",
                "properties",
                Level(agree) if agree else None,
                sweep_points(
                    "numbers of workers whose answers were compared",
                    len({cell.workers for cell in compared}),
                ),
                _need_outputs(runs, program, form),
                **words,
                properties=_format_properties(published),
            )
        )
        if scales.low > 1:
            # Figure 4 judges forms that do not scale.
            output_need = outputs(rows_of(runs, program, form, options))
            claims.append(growth(options, scales, rate(runs, program, form), output_need)[0])
    return claims


def _format_properties(held: Mapping[str, bool]) -> str:
    return ", ".join(f"{pip} {'yes' if held[pip] else 'no'}" for pip in PIPS)


def _properties_text(runs: Runs, program: Program, form: str) -> str:
    """Return PIP1 to PIP3 of a form in words; a property must hold in all repetitions."""
    results = properties(runs, program, form)
    if not results:
        return "no verified answers"
    return _format_properties({pip: all(held[pip] for held in results) for pip in PIPS})


def _outcome(options: Options, runs: Runs) -> Outcome:
    texts = {
        f"{p.panel}, {NAMES[form]}": {"properties": _properties_text(runs, p, form)}
        for p in PROGRAMS
        for form in _all_forms(p)
    }
    scales = {
        f"{p.panel}, {NAMES[form]}, scaling": numbers(throughput_eps=rate(runs, p, form))
        for p in PROGRAMS
        for form in _all_forms(p)
    }
    return outcome(
        [claim for p in PROGRAMS for claim in _claims(options, runs, p)],
        notes(
            options,
            runs,
            degrees(options),
            *missing_forms(runs, VARIANTS),
            *(
                f"{p.panel}, PIP1 to PIP3: "
                + "; ".join(
                    f"{NAMES[form]} {_property_letters(runs, p, form)}" for form in _all_forms(p)
                )
                + "."
                for p in PROGRAMS
            ),
            f"y: the engine declares it, and {', '.join(map(str, degrees(options)))} workers "
            "(PIP1), an input with another number of streams (PIP2) and every trial (PIP3) gave the "
            "right answer. n: an answer was wrong, or the engine denies it. ?: no answer was "
            "compared.",
            BLOCKS_NOTE,
            FORM_NOTE,
            lines_note(*(program.workload for program in PROGRAMS)),
        ),
        {**texts, **scales},
        "DGS, table 1: what parallelism costs, and how it scales",
        [[_panel(options, runs, p) for p in PROGRAMS]],
        height_in=2.4,
    )


def _panel(options: Options, runs: Runs, program: Program) -> Panel:
    forms = _all_forms(program)
    points = []
    for index, form in enumerate(forms):
        gain = rate(runs, program, form).growth(options.within)
        if gain is not None:
            points.append(Point(index, gain.value, gain.value, gain.value))
    return Panel(
        title=program.panel,
        y_label="throughput by that of one worker",
        lines=[
            Line(
                name=f"with {max(options.within, default=1)} workers",
                points=points,
                style="marks",
            )
        ],
        marks=[
            Mark(name=f"published, {NODES} nodes", low=fact.low, high=fact.low, x=float(index))
            for index, fact in enumerate(_published_forms(program).values())
        ],
        tick_names=[f"{form}\n{_property_letters(runs, program, form)}" for form in forms],
    )


def _property_letters(runs: Runs, program: Program, form: str) -> str:
    """Return a letter for each property: y, n, or ? if no answer was compared."""
    results = properties(runs, program, form)
    if not results:
        return "???"
    return "".join("y" if all(held[pip] for held in results) else "n" for pip in PIPS)


FIGURE = Figure(
    id="flumina:T1",
    title="what parallelism costs a program (PIP1 to PIP3), and how it scales",
    shows="properties shown by runs, and growth, of the three programs in Flink, Timely and DGS",
    needs=(*(program.workload for program in PROGRAMS), *dict.fromkeys(VARIANTS.values())),
    stages=(stage("forms", "every form, with other workers and another partition", _tree),),
    outcome=_outcome,
)
