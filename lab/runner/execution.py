"""Executes a run: prepares its datasets, creates or reopens its directory, runs all cells."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from msgspec.structs import replace

from streamlab.lab.interrupt import check as check_interrupt
from streamlab.lab.matrix.cells import Trial, interleave
from streamlab.lab.runner.datasets import check_inputs, check_room_for, find_dataset
from streamlab.lab.runner.run_directory import RunDirectory, hold, new_meta, record_dataset
from streamlab.lab.runner.run_plan import RunPlan
from streamlab.lab.runner.runner import Runner, RunResult, Watcher
from streamlab.lab.runner.session import check_isolation
from streamlab.workloads.datasets.progress import Progress
from streamlab.workloads.default_folders import catalogue, check_text


class Audience(Watcher):
    """Receives the progress of a run, beginning with its datasets; this class ignores all reports."""

    def step(self, title: str) -> AbstractContextManager[Progress]:
        """Show a step that may take long while the context is open."""
        return nullcontext(lambda step, done, total: None)

    def trials(self, trials: Sequence[Trial] | None) -> AbstractContextManager[object]:
        """Show these trials while the context is open; None if searches determine their number."""
        return nullcontext()


def execute(
    plan: RunPlan, *, resume: Path | None, out: Path, master: str, audience: Audience
) -> tuple[Path, RunResult]:
    """Prepare the datasets and run all cells; return the run directory and the result.

    Without a run to `resume`, creates a directory below `out`. `master` is the Spark master for generating datasets.
    """
    settings = plan.matrix.settings
    with ExitStack() as held:
        meta = new_meta(plan)
        if resume is not None:
            held.enter_context(hold(resume))
            meta = RunDirectory.reopen(resume, meta).meta
        meta = replace(meta, container=check_isolation(settings, plan.cells))
        for root in (resume or out, catalogue().path):
            check_text(root.absolute())
        check_inputs(plan.entries)
        check_room_for(plan.entries)
        datasets = {}
        for entry in plan.entries:
            with audience.step(f"dataset of {entry.key}") as progress:
                datasets[entry.key] = find_dataset(
                    entry, master=master, progress=progress, say=audience.warn
                )
            check_interrupt()  # Spark may have swallowed the exception
            meta = record_dataset(meta, entry.key, datasets[entry.key])
        if resume is not None:
            directory = RunDirectory(resume, meta)
        else:
            directory = RunDirectory.create(out, meta)
            held.enter_context(hold(directory.path))
        has_search = any(cell.search is not None for cell in plan.cells)
        with audience.trials(None if has_search else interleave(plan.cells)):
            runner = Runner(directory, plan.cells, datasets, audience, settings)
            return directory.path, runner.run()
