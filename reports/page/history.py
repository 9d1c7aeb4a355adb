"""Writes the page that plots a metric of each cell over the stored runs of a machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamlab.json_value import JsonValue
from streamlab.reports.figures.history import draw_history
from streamlab.reports.page.frame import fill, write_page
from streamlab.reports.page.provenance import named_facts
from streamlab.reports.side_by_side import differing_facts, recorded_facts, write_times, write_value
from streamlab.reports.steps import History, Track, history, runs_in_words
from streamlab.reports.summary import cells_without_oracle, code_of, start_time
from streamlab.results.compare import METRICS
from streamlab.results.stats.decision import ONE_STAGE
from streamlab.results.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedRun:
    """A run in the list, with the facts that changed since the previous run."""

    name: str
    start_time: str
    commit: str
    trials: int
    changed: Sequence[tuple[str, tuple[str, ...]]]


def write_history(
    runs: Sequence[Run],
    target: Path,
    *,
    metric: str,
    seed: int,
    machine: Mapping[str, object],
    left_out: Sequence[str],
) -> Path:
    """Write the history of runs as one HTML file and return its path.

    The runs are from one machine, in order of time. `metric` is a key of `streamlab.results.compare.METRICS`
    other than the metric of searches. `machine` has the fields that identify the machine; `left_out` has the
    excluded runs, with reasons.
    """
    tracked = history(runs, METRICS[metric], seed=seed)
    names = [run.path.resolve().name for run in runs]
    page = fill(
        "history.html.j2",
        name=f"history of {metric}",
        colours={},
        metric=METRICS[metric],
        machine=machine,
        runs=_list_runs(runs, names),
        tracked=tracked,
        without_oracle=cells_without_oracle(row for run in runs for row in run.rows),
        rule=ONE_STAGE,
        drawn=[
            (track, draw_history(track, names, metric=metric, alt=alt))
            for track in tracked.tracks
            if track.points
            for alt in (_describe_track(track, metric, len(runs)),)
        ],
        write=lambda value: write_value(metric, value),
        write_times=lambda ratio: write_times(metric, ratio),
        by_run=lambda track: {point.run: point for point in track.points},
        several=_find_repeated_cells(tracked),
        runs_in_words=runs_in_words,
        left_out=left_out,
    )
    return write_page(target, page)


def _list_runs(runs: Sequence[Run], names: Sequence[str]) -> list[_ListedRun]:
    facts = [named_facts(_explaining_facts(run)) for run in runs]
    return [
        _ListedRun(
            name=name,
            start_time=start_time(run),
            commit=code_of(run),
            trials=len(run.rows),
            changed=differing_facts(facts[index - 1 : index + 1]) if index else [],
        )
        for index, (run, name) in enumerate(zip(runs, names, strict=True))
    ]


def _explaining_facts(run: Run) -> dict[str, JsonValue]:
    """Return the facts of a run that can explain a step: all facts except the load average."""
    host = {name: value for name, value in run.meta.host.items() if name != "loadavg"}
    return recorded_facts(run) | {"host": host}


def _describe_track(track: Track, metric: str, runs: int) -> str:
    steps = "; ".join(
        f"step of {step.ratio - 1:+.0%} at run {step.after + 1}" for step in track.steps
    )
    return f"{metric} of {track.cell} over {runs} runs: {steps or 'no step'}"


def _find_repeated_cells(tracked: History) -> set[str]:
    """Return the cells that have several tracks because their input or settings changed."""
    cells = [track.cell for track in tracked.tracks]
    return {cell for cell in cells if cells.count(cell) > 1}
