"""Says what was projected: in the terminal and in files of its own, predictions apart from runs."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from lab.project.kept import Kept
from lab.project.projection import Predicted, Setting
from lab.project.subject import Subject
from lab.project.validation import Point, worst_error
from reports.figures.panel import save
from reports.figures.projection import Curve, Dot, projection_panel
from reports.numbers import digits, rate, share
from workloads.optimizers.cost import costs_line

WANTED_ERROR = 0.15
"""Of the worst validation point (benchmarks/targets.toml); beyond it predictions are doubtful."""
BUSY = 0.5
"""Load of this machine, for each core, from which costs measured on it are doubtful."""
COLUMNS = (
    "kind",
    "machines",
    "cores",
    "workers",
    "rate_eps",
    "over_one_worker",
    "busy",
    "synchronizations_per_s",
    "memory_bytes_per_s",
    "sent_bytes_per_s",
)


def as_table(
    subject: Subject,
    kept: Kept,
    points: Sequence[Point],
    predicted: Sequence[Predicted],
    notes: Sequence[str],
) -> str:
    """Return all of it as text: measured costs, measured runs, predictions, remarks."""
    lines = [*_calibration_lines(subject, kept), "", *_validation_lines(points, kept), ""]
    lines += [
        "PREDICTED, not measured: a worker for each core, in runs whose start does not count",
        f"{'nodes':>5} {'cores':>6} {'workers':>8} {'events/s':>10} {'over one':>9} {'busy':>6}",
    ]
    lines += [
        f"{one.machines:>5} {one.all_cores:>6} {one.simulated.workers:>8} "
        f"{rate(one.simulated.rate_eps).text:>10} {_over(one, points):>9} "
        f"{share(one.simulated.busy).text:>6}"
        for one in predicted
    ]
    return "\n".join([*lines, "", *notes])


def _calibration_lines(subject: Subject, kept: Kept) -> Iterator[str]:
    found = kept.calibration
    yield (
        f"{subject.workload().name}, measured {kept.at} on this machine of {found.costs.cores} "
        f"cores, {found.processes} processes, load up to {found.loadavg:.1f}"
    )
    yield (
        f"{costs_line(found.costs)}, a run's start {found.costs.begin_ns:.3g}, a switch of a core "
        f"{found.switch_ns:.3g}"
    )
    if found.alone != found.costs:
        yield (
            f"of one worker's input: update {found.alone.update_ns:.3g}, in order "
            f"{found.alone.order_ns:.3g}, a run's start {found.alone.begin_ns:.3g}"
        )
    if found.loadavg > BUSY * found.costs.cores:
        yield (
            f"doubtful: the load was {found.loadavg:.1f} on {found.costs.cores} cores while costs "
            "were measured; measure again on a quiet machine with --calibrate"
        )


def _validation_lines(points: Sequence[Point], kept: Kept) -> Iterator[str]:
    yield "validation, runs on this machine (none of them was used to measure costs)"
    yield f"{'workers':>13} {'measured':>10} {'predicted':>10} {'error':>7}"
    cores = kept.calibration.costs.cores
    for point in points:
        one = point.measured
        more = f" on {cores}" if point.oversubscribed else ""
        yield (
            f"{f'{one.workers}{more}':>13} {rate(one.rate_eps).text:>10} "
            f"{rate(point.predicted_eps).text:>10} {point.error:>+7.0%}"
        )
    worst = worst_error(points)
    yield f"validation: worst error {worst:.0%} of {len(points)} points"
    if not worst <= WANTED_ERROR:
        yield (
            f"doubtful: the worst error is above {WANTED_ERROR:.0%}; where the runs are a few ms "
            "long, more --events help; else the simulation does not hold for this workload here"
        )
    if not any(point.oversubscribed for point in points):
        yield f"no run with more workers than {cores} cores: the plan has no work for them"


def _over(one: Predicted, points: Sequence[Point]) -> str:
    base = _one_worker_eps(points)
    return f"{digits(one.simulated.rate_eps / base)}x" if base else ""


def _one_worker_eps(points: Sequence[Point]) -> float:
    """Return the predicted rate of one worker: ratios are of predictions alone."""
    return next((point.steady_eps for point in points if point.measured.workers == 1), 0.0)


def written(
    folder: Path,
    subject: Subject,
    kept: Kept,
    points: Sequence[Point],
    predicted: Sequence[Predicted],
    setting: Setting,
    notes: Sequence[str],
) -> list[Path]:
    """Write the files and return their paths; the CSV has predictions only.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / "projection"
    table, data = stem.with_suffix(".csv"), stem.with_suffix(".json")
    table.write_text(_csv(predicted, points), encoding="utf-8")
    content = {
        "subject": asdict(subject),
        "assumed": asdict(setting),
        "measured": asdict(kept),
        "validation": [
            {**asdict(point), "measured_eps": point.measured.rate_eps, "error": point.error}
            for point in points
        ],
        "worst_error": worst_error(points) if points else None,
        "predicted": list(_rows(predicted, points)),
        "remarks": list(notes),
    }
    data.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    by_nodes = len({one.machines for one in predicted}) > 1
    panel = projection_panel(
        title=f"{subject.workload().name}: predicted, not measured",
        unit="nodes" if by_nodes else "cores",
        predicted=Curve(
            label="predicted",
            points=tuple(
                (one.machines if by_nodes else one.cores, one.simulated.rate_eps)
                for one in predicted
            ),
        ),
        # A run with more workers than cores is of this machine, and not of one with as many cores.
        measured=()
        if by_nodes
        else tuple(
            Dot(at=point.measured.workers, rates_eps=point.measured.rates_eps)
            for point in points
            if not point.oversubscribed
        ),
        worst_error=worst_error(points),
    )
    save(panel, stem)
    return [table, data, stem.with_suffix(".svg"), stem.with_suffix(".png")]


def _rows(predicted: Sequence[Predicted], points: Sequence[Point]) -> Iterator[dict[str, Any]]:
    base = _one_worker_eps(points)
    for one in predicted:
        found = one.simulated
        seconds = found.steady_ns / 1e9
        values = (
            "predicted",
            one.machines,
            one.cores,
            found.workers,
            found.rate_eps,
            found.rate_eps / base if base else None,
            found.busy,
            found.synchronizations / seconds if seconds else None,
            found.memory_bytes_per_ns * 1e9,
            found.sent_bytes / seconds if seconds else None,
        )
        yield dict(zip(COLUMNS, values, strict=True))


def _csv(predicted: Sequence[Predicted], points: Sequence[Point]) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(predicted, points))
    return file.getvalue()
