"""Implements `lab compare`."""

from pathlib import Path

import click
import numpy as np

from streamlab.lab.cli import EXIT_OK
from streamlab.lab.cli.commands.stored_runs import find_run
from streamlab.lab.cli.output import echo
from streamlab.lab.cli.results import COMPARE_METRICS
from streamlab.lab.cli.write_errors import writing
from streamlab.lab.gate.render import align_rows
from streamlab.reports.numbers import UNCLEAR, number_of
from streamlab.reports.side_by_side import write_ratio, write_value
from streamlab.reports.summary import cells_without_oracle, code_of, conditions_of
from streamlab.results.compare import METRICS, Comparison, Ratio
from streamlab.results.compare import compare as compare_runs
from streamlab.results.differences import describe_differences
from streamlab.results.store import Run, read_run

SEED = 1
"""Fixed, so that intervals are the same on every call."""

NOT_COMPARABLE = "NOT COMPARABLE"


def compare(
    run_a: str, run_b: str, names: tuple[str, ...], force: bool, out: Path | None, runs: Path
) -> int:
    """Compare run B with run A: ratios of medians over fresh processes, with intervals."""
    old, new = (read_run(find_run(name, runs)) for name in (run_a, run_b))
    comparison = compare_runs(
        old,
        new,
        np.random.default_rng(SEED),
        metrics=[METRICS[name] for name in names or COMPARE_METRICS],
        force=force,
    )
    unclear = f"| {UNCLEAR} "
    for line in _lines(old, new, comparison):
        echo(click.style(line, dim=True) if unclear in line else line)  # grey on a terminal
    if out is not None:
        with writing("the comparison", out):
            paths = _write(out, old, new, comparison)
        for path in paths:
            echo(str(path))
    return EXIT_OK


def _lines(old: Run, new: Run, comparison: Comparison) -> list[str]:
    """Return the comparison as lines of Markdown, for the terminal and for the file."""
    lines = [f"{side}: {run.path.name} ({code_of(run)})" for side, run in (("A", old), ("B", new))]
    lines.append("")
    if comparison.differences:
        lines += [
            f"**{NOT_COMPARABLE}**: ratios do not show the revision alone; these differ, too:"
        ]
        lines += [f"- {difference}" for difference in comparison.differences] + [""]
    if comparison.unlike:
        left_out = number_of(len({item.cell for item in comparison.unlike}), "cell")
        lines += [
            f"{left_out} left out, which differ in more than the revision (--force compares them):"
        ]
        lines += [f"- {text}" for text in describe_differences(comparison.unlike)] + [""]
    lines += [f"- {note}" for note in comparison.notes]
    lines += [f"- the code of {key} differs" for key in _edited_workloads(old, new)]
    weak = cells_without_oracle([*old.rows, *new.rows])
    lines += [f"- {cell}: {words}" for cell, words in weak.items()]
    lines += [f"- {a.cell}: {a.word}: A {a.old}, B {a.new}" for a in comparison.answers]
    lines += [f"- {cell}: only in A" for cell in comparison.only_old]
    lines += [f"- {cell}: only in B" for cell in comparison.only_new]
    if not comparison.ratios:
        return [*lines, "no cell has a number in both runs"]
    if lines[-1]:
        lines.append("")
    lines += [*_rate_conditions(old, {ratio.cell for ratio in comparison.ratios}), ""]
    head = ("cell", "metric", "A", "B", "B / A", "95 %", "n", "p", "verdict")
    lines += align_rows([head, *(_row(ratio) for ratio in comparison.ratios)])
    if not all(ratio.is_clear for ratio in comparison.ratios):
        lines += ["", f"{UNCLEAR}: no difference is shown, or there are too few processes for one"]
    if comparison.differences:
        lines += ["", f"**{NOT_COMPARABLE}**"]
    return lines


def _edited_workloads(old: Run, new: Run) -> list[str]:
    """Return the workloads whose recorded code differs between the runs."""
    before, after = (run.meta.code for run in (old, new))
    return sorted(key for key in before if after.get(key, before[key]) != before[key])


def _rate_conditions(run: Run, cells: set[str]) -> list[str]:
    """Return one line per set of conditions under which the rates of `cells` were measured."""
    cells_by_conditions: dict[str, dict[str, None]] = {}
    for row in run.rows:
        if row.cell in cells:
            cells_by_conditions.setdefault(str(conditions_of(row) or "undeclared"), {})[
                row.cell
            ] = None
    return [
        f"- {conditions}: {', '.join(names)}" for conditions, names in cells_by_conditions.items()
    ]


def _row(ratio: Ratio) -> tuple[str, ...]:
    return (
        ratio.cell,
        ratio.metric,
        write_value(ratio.metric, ratio.old).text,
        write_value(ratio.metric, ratio.new).text,
        *write_ratio(ratio),
        str(ratio.n_old) if ratio.n_old == ratio.n_new else f"{ratio.n_old}, {ratio.n_new}",
        "" if ratio.p is None else f"{ratio.p:.2g}",
        ratio.word,
    )


def _write(out: Path, old: Run, new: Run, comparison: Comparison) -> list[Path]:
    from streamlab.reports.figures.ratios import Bar, draw_ratios  # matplotlib is slow to import

    out.mkdir(parents=True, exist_ok=True)
    paths = [out / "compare.md"]
    pictures = []
    for name in dict.fromkeys(ratio.metric for ratio in comparison.ratios):
        metric = METRICS[name]
        bars = [Bar.of(ratio) for ratio in comparison.ratios if ratio.metric == name]
        better = "higher" if metric.higher_is_better else "lower"
        draw_ratios(
            bars,
            title=f"{name}: B over A",
            subtitle=f"{metric.about}; {better} is better; lines: 95 % intervals; grey: none shown",
            mark=NOT_COMPARABLE if comparison.differences else None,
            stem=out / f"ratios-{name}",
        )
        paths += [out / f"ratios-{name}.svg", out / f"ratios-{name}.png"]
        pictures.append(f"![{name}](ratios-{name}.svg)")
    text = "\n".join(["# B against A", "", *_lines(old, new, comparison), "", *pictures]) + "\n"
    paths[0].write_text(text, encoding="utf-8", errors="backslashreplace")
    return paths
