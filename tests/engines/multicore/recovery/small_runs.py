"""Programs, inputs and runs for the tests of recovery."""

import multiprocessing
from contextlib import closing
from functools import cache

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.run.settings import BOUNDS, RunSettings
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.across import OUTPUT, PLUGS
from tests.engines.multicore.test_dgs import generated
from tests.engines.multicore.test_dgs_across import plugs

OFTEN = {
    "event_window": {"values_per_barrier": 20},
    "fraud_detection": {"transactions_per_rule": 20},
    "page_view_join": {"views_per_update": 20},
    "keyed_counter": {"increments_per_reset": 20},
}
NAMES = (*OFTEN, "plugs")
"""A tree with a state that says more than a sum, one that loops, forests, and one across keys."""
KILLED = -9


@cache
def program_of(name):
    return PLUGS if name == "plugs" else workload(name).program


@cache
def input_of(name, events):
    return plugs(events // 3) if name == "plugs" else generated(name, events, **OFTEN[name])


@cache
def kernels_of(name):
    """Return compiled functions; a process that is forked off has them."""
    return Kernels(program_of(name), bounds=BOUNDS)


@cache
def expected(name, events):
    data = input_of(name, events)
    return answer_of(PLUGS, data) if name == "plugs" else workload(name).oracle(data)


def is_right(name, events, answer):
    output = OUTPUT if name == "plugs" else workload(name).output
    return compare(expected(name, events), answer, output).equal


def run(name, events, folder, *, workers=2, every=1, pause_ms=0, **given):
    """Return what a run in that folder measured, and its answer."""
    options = DgsOptions(
        checkpoint_every=every, checkpoint_ms=pause_ms, checkpoint_folder=str(folder), gather=False
    )
    settings = RunSettings(workers=workers, **given)
    program, data = program_of(name), input_of(name, events)
    with closing(DgsRun(program, data, settings, options, kernels=kernels_of(name))) as made:
        return made.run(), made.answer()


def forked(target, *arguments):
    """Start a process with what this one has compiled and generated."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    return process


def refused(name, events, folder, **given):
    """Return why a run in that folder is refused."""
    try:
        run(name, events, folder, **given)
    except EngineError as error:
        return str(error)
    raise AssertionError("it ran")
