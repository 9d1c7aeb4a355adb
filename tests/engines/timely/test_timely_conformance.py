"""Timely itself: right on every workload that it has a program for, and nothing left behind."""

import os
import signal

import psutil
import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.conformance_load import LOAD_CASES, run_load_case
from streamlab.engines.errors import EngineCrashError
from streamlab.engines.timely.adapter import TimelyEngine
from streamlab.engines.timely.build import PROGRAM
from streamlab.engines.timely.process import SHAPES
from streamlab.workloads.datasets.catalog import Catalog
from streamlab.workloads.registry import workload
from tests.engines.separate_environment import check_random_inputs, requires_environment
from tests.engines.tasks import check_task, task_of
from tests.workloads.datasets.files import imported, real

pytestmark = requires_environment(TimelyEngine)

PROGRAMS = [
    (variant.name, name)
    for name in SHAPES
    for variant in TimelyEngine().variants()
    if variant.lacks(workload(name)) is None
]
programs = pytest.mark.parametrize(("variant", "name"), PROGRAMS)


def check(name, case, folder, chosen: Setting, run=run_case) -> None:
    found = run(TimelyEngine(), workload(name), case, chosen, folder)
    assert (found.unsupported, found.problems) == (None, ())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@programs
def test_timely_conforms(variant, name, case, workers, tmp_path):
    check(name, case, tmp_path, Setting(variant=variant, workers=workers))


@pytest.mark.some(12)
@pytest.mark.parametrize("case", LOAD_CASES, ids=lambda case: case.name)
@programs
def test_timely_conforms_under(variant, name, case, tmp_path):
    check(name, case, tmp_path, Setting(variant=variant), run_load_case)


@pytest.mark.parametrize("batch", [1, 100_000])
@programs
def test_a_batch_of_any_size_gives_the_same_answer(variant, name, batch, tmp_path):
    check(name, CASES[0], tmp_path, Setting(variant=variant, batch=batch))


@pytest.mark.parametrize("variant", ["automatic", "manual"])
def test_random_inputs_are_answered(variant):
    names = [name for chosen, name in PROGRAMS if chosen == variant]
    check_random_inputs("timely", variant, names)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("variant", ["automatic", "manual"])
def test_the_views_of_a_real_server_are_joined(variant, workers, tmp_path):
    file = real("pageviews/nasa_19950801.tsv.xz")
    with_updates = imported(Catalog(root=tmp_path / "data"), "access-log", file, streams=2)
    task = task_of("page_view_join", with_updates, tmp_path, variant, workers=workers, batch=64)
    check_task(TimelyEngine(), task)


def test_a_process_that_dies_is_a_crash_and_leaves_nothing(tmp_path):
    data = ordinary_input(workload("event_window"))
    prepared = TimelyEngine().prepare(task_of("event_window", data, tmp_path, "automatic"))
    try:
        (process,) = (
            child for child in psutil.Process().children() if PROGRAM.startswith(child.name())
        )
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(EngineCrashError, match="ended with code -9"):
            prepared.run()
    finally:
        prepared.close()
    assert not process.is_running()
