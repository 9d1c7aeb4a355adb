"""Writes the page that compares several runs side by side."""

from collections.abc import Sequence
from pathlib import Path

from streamlab.reports.figures.panel import as_svg
from streamlab.reports.figures.ratios import BETTER as BETTER_COLOUR
from streamlab.reports.figures.ratios import WORSE as WORSE_COLOUR
from streamlab.reports.figures.ratios import Bar, ratio_panel
from streamlab.reports.numbers import number_of
from streamlab.reports.page.frame import fill, write_page
from streamlab.reports.page.inline_svg import inline
from streamlab.reports.page.provenance import named_facts
from streamlab.reports.side_by_side import (
    LETTERS,
    SideBySide,
    Table,
    differing_facts,
    recorded_facts,
    side_by_side,
    write_ratio,
)
from streamlab.reports.summary import cells_without_oracle, code_of
from streamlab.results.store import Run

_COLOURS = {"better": BETTER_COLOUR, "worse": WORSE_COLOUR}


def write_comparison(runs: Sequence[Run], target: Path, *, seed: int) -> Path:
    """Write two or more runs side by side as one HTML file and return its path.

    Raises:
        IncomparableError: a run has no cell in common with the first.
    """
    comparison = side_by_side(runs, seed=seed)
    facts = [named_facts(recorded_facts(run)) for run in runs]
    names = [run.path.resolve().name for run in runs]
    page = fill(
        "comparison.html.j2",
        name=f"{len(runs)} runs side by side",
        colours=_COLOURS,
        runs=list(zip(LETTERS, names, [_describe_run(run) for run in runs], strict=False)),
        comparison=comparison,
        without_oracle=cells_without_oracle(row for run in runs for row in run.rows),
        figures={
            table.metric.name: _draw_ratios(table, comparison, names) for table in comparison.tables
        },
        differs=differing_facts(facts),
        write_ratio=write_ratio,
    )
    return write_page(target, page)


def _describe_run(run: Run) -> str:
    host = run.meta.host.get("cpu_model")
    return f"commit {code_of(run)}, {number_of(len(run.rows), 'trial')}, {host}"


def _draw_ratios(table: Table, comparison: SideBySide, names: Sequence[str]) -> list[str]:
    """Return a drawing of ratios for each run after the first that has ratios."""
    direction = "higher" if table.metric.higher_is_better else "lower"
    drawn = []
    for index in range(1, len(names)):
        ratios = [line.values[index].ratio for line in table.lines]
        bars = [Bar.of(ratio) for ratio in ratios if ratio is not None]
        if bars:
            title = f"{table.metric.name}: {LETTERS[index]} over A"
            panel = ratio_panel(
                bars,
                title=title,
                subtitle=f"{direction} is better; lines: 95 % intervals; grey: no difference shown",
            )
            drawn.append(
                inline(
                    as_svg(panel.axes),
                    name=f"ratios-{table.metric.name}-{index}",
                    alt=f"{title}. " + "; ".join(f"{bar.name}: {bar.label}" for bar in bars),
                    engines=_COLOURS,
                    spots=panel.spots,
                )
            )
    return drawn
