"""Shows the progress of a run on standard error."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from streamlab.lab.cli.table import print_results
from streamlab.lab.errors import LabError
from streamlab.lab.matrix.cells import Trial
from streamlab.lab.runner.execution import Audience
from streamlab.lab.runner.time_left import TimeLeft
from streamlab.reports.numbers import duration, latency, memory, rate
from streamlab.results.schema import UNSUPPORTED, VERIFIED, TrialRow
from streamlab.workloads.datasets import progress as datasets
from streamlab.workloads.datasets.dataset import Dataset

LINES_SHOWN = 4
"""A failure's reason is cut after this many lines; the difference of a wrong answer has up to twenty."""

# The rate is low, because drawing takes CPU time from the measurement.
REFRESHES_PER_S = 2

LINE_EVERY_S = 5
"""Seconds between two lines of a step, if standard error is not a terminal."""


class Verbosity(Enum):
    """How much of a run to show: problems only, one line per trial, or each trial's details."""

    QUIET = "quiet"
    USUAL = "usual"
    VERBOSE = "verbose"


@contextmanager
def announce(
    title: str, *, quiet: bool = False, leave_line: bool = True
) -> Iterator[datasets.Progress]:
    """Show a bar for a long step; yields a function to call with step, done and total.

    Without a terminal, prints a line every `LINE_EVERY_S`. With `leave_line`, a step that took more
    than a second leaves a line. With `quiet`, nothing is shown.
    """
    console = Console(stderr=True)
    began = last = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        refresh_per_second=REFRESHES_PER_S,
        transient=True,
        disable=quiet or not console.is_terminal,
    ) as progress:
        task = progress.add_task(escape(title), total=None)

        def show(step: str, done: int, total: int) -> None:
            nonlocal last
            text = f"{title}: {step}"
            progress.update(task, description=escape(text), completed=done, total=total or None)
            if quiet or console.is_terminal or time.monotonic() < last + LINE_EVERY_S:
                return
            last = time.monotonic()
            share = f", {done / total:.0%}" if total else ""
            time_left = _left_text((last - began) * (total - done) / done if done else 0.0)
            console.print(escape(f"{text}{share}{time_left}"), highlight=False, soft_wrap=True)

        yield show
    duration_s = time.monotonic() - began
    if duration_s > 1 and leave_line and not quiet:
        console.print(escape(f"{title}: {duration_s:.1f} s"), highlight=False)


def time_text(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 2 * 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"


def _left_text(left_s: float) -> str:
    """Return a suffix with the time left, such as `, about 5 min left`; empty if the time is short or unknown."""
    return f", about {time_text(left_s)} left" if left_s >= LINE_EVERY_S else ""


class Terminal(Audience):
    """Shows a run on a terminal or in a log."""

    def __init__(
        self,
        verbosity: Verbosity = Verbosity.USUAL,
        write_page: Callable[[Path], Path] | None = None,
        console: Console | None = None,
    ) -> None:
        """Prepare to show a run on standard error or a console; `write_page` writes the run's page after each part."""
        self._verbosity = verbosity
        self._write_page = write_page
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Computed(self.time_left_text),
            console=self._console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            disable=verbosity is Verbosity.QUIET or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("trials", total=None)
        self._total: int | None = None
        self._time_left = TimeLeft(())
        # Expected seconds of the current trial, and of all later ones.
        # This thread writes the pair before each trial; the thread that draws the bar reads it.
        self._expected_s: tuple[float, float] | None = None
        self._began = time.monotonic()

    def step(self, title: str) -> AbstractContextManager[datasets.Progress]:
        """Show a bar, and leave a line if the step took long."""
        return announce(title, quiet=self._verbosity is Verbosity.QUIET)

    def warn(self, text: str) -> None:
        """Print a warning or a hint."""
        self._print(f"lab: {text}")

    @contextmanager
    def trials(self, trials: Sequence[Trial] | None) -> Iterator[None]:
        """Show a bar; `trials` is None if searches determine their number."""
        self._total = None if trials is None else len(trials)
        self._time_left = TimeLeft(trials or ())
        self._bar.reset(self._task, total=self._total)
        with self._bar:
            yield

    def oracle(self, key: str, dataset: Dataset) -> None:
        """Show that the expected answer is being looked up or computed."""
        self._bar.update(self._task, description=escape(f"expected answer of {key}"))

    def started(self, trial: Trial) -> None:
        """Show the trial as the current one."""
        self._expected_s, self._began = self._time_left.expected_s(trial), time.monotonic()
        self._bar.update(self._task, completed=trial.order_index, description=escape(_title(trial)))

    def finished(self, trial: Trial, row: TrialRow) -> None:
        """Print a line for the trial, with the difference if the answer is wrong."""
        self._expected_s = None
        self._time_left.record(trial, time.monotonic() - self._began)
        time_left = _left_text(self._time_left.later_s(trial))
        self._bar.update(self._task, completed=trial.order_index + 1)
        if self._verbosity is Verbosity.QUIET and row.status in (*VERIFIED, UNSUPPORTED):
            return
        number = trial.order_index + 1
        progress = f"[{number}]" if self._total is None else f"[{number}/{self._total}]"
        if self._total is not None and not self._console.is_terminal:
            progress = f"[{number}/{self._total}{time_left}]"
        self._print(f"{progress} {_title(trial)}  {outcome_of(row)}")
        if self._verbosity is Verbosity.VERBOSE:
            for detail in details_of(row):
                self._print(f"    {detail}")

    def finished_part(self, run_dir: Path, rows: Sequence[TrialRow]) -> None:
        """Print the table of a part, and write the page."""
        if self._verbosity is Verbosity.QUIET:
            return
        print_results(rows, {}, self._console)
        if self._write_page is not None:
            try:
                self._print(f"report so far: {self._write_page(run_dir)}")
            except (LabError, OSError) as error:  # the run's end writes the page again
                self._print(f"no report so far: {error}")

    def time_left_text(self) -> str:
        """Return a text with the time left, and by how much the current trial exceeds its expected time."""
        expected = self._expected_s
        if expected is None:
            return ""
        expected_s, later_s = expected
        left_s = expected_s - (time.monotonic() - self._began)
        overrun = f", this trial is over by {time_text(-left_s)}" if left_s <= -LINE_EVERY_S else ""
        return (_left_text(max(left_s, 0.0) + later_s) + overrun).removeprefix(", ")

    def _print(self, text: str) -> None:
        self._console.print(escape(text), highlight=False, soft_wrap=True)


class _Computed(ProgressColumn):
    """Shows a text that is computed each time the bar is drawn."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        """Return the text of this moment."""
        return Text(self._text())


def _title(trial: Trial) -> str:
    if trial.rate_eps is None:
        return f"{trial.cell.id} #{trial.repetition}"
    purpose = f"{trial.purpose} {trial.probe}.{trial.vote} at {rate(trial.rate_eps).text}"
    return f"{trial.cell.id} {purpose}"


def outcome_of(row: TrialRow) -> str:
    """Return a trial's status, numbers and remark as one line, or the reason of a failure."""
    if row.status not in VERIFIED:
        lines = str(row.difference or row.reason or "no reason").splitlines()
        hidden_lines = len(lines) - LINES_SHOWN
        if hidden_lines > 0:
            lines[LINES_SHOWN:] = [f"  {hidden_lines} more lines are in the report"]
        return f"{row.status}: " + "\n".join(lines)
    if row.load is None:
        eps = row.throughput_eps
        numbers = [rate(eps).text if eps is not None else "no rate"]
    else:
        numbers = [f"offered {rate(row.offered_eps or 0.0).text}"]
        for name in ("p50", "p99"):
            value = getattr(row, f"latency_{name}_ns")
            if value is not None:
                numbers.append(f"{name} {latency(value).text}")
    remark = f"  ({row.reason})" if row.reason else ""
    return f"{row.status}  {', '.join(numbers)}{remark}"


def details_of(row: TrialRow) -> Iterator[str]:
    """Yield a trial's details: its plan, costs, counters and log."""
    if row.plan:
        yield from f"plan: {row.plan}".splitlines()
    seconds = {"timed part": row.duration_s, "CPU": row.cpu_s}
    costs = [f"{title} {duration(s * 1e9).text}" for title, s in seconds.items() if s is not None]
    if row.peak_rss_bytes is not None:
        costs.append(f"RSS {memory(row.peak_rss_bytes).text}")
    if costs:
        yield ", ".join(costs)
    counters = json.loads(row.counters or "{}")
    if counters:
        yield "counters: " + ", ".join(f"{name}={value}" for name, value in counters.items())
    if row.log:
        yield f"log: {row.log}"
