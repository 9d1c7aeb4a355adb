"""Programs, inputs and runs for the tests of recovery."""

import multiprocessing
from contextlib import closing
from functools import cache

from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.reference import answer_of
from streamlab.workloads.registry import workload
from tests.across import OUTPUT, PLUGS
from tests.engines.multicore.dgs_programs import generated, plugs
from tests.engines.multicore.native_runs import make_run

OFTEN = {
    "event_window": {"values_per_barrier": 20},
    "fraud_detection": {"transactions_per_rule": 20},
    "page_view_join": {"views_per_update": 20},
    "keyed_counter": {"increments_per_reset": 20},
}
NAMES = (*OFTEN, "plugs")
"""Programs with a tree whose state is more than a sum, with a loop, with forests, and with events across keys."""
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
    return Kernels(program_of(name), bounds=True)


@cache
def expected(name, events):
    data = input_of(name, events)
    return answer_of(PLUGS, data) if name == "plugs" else workload(name).oracle(data)


def is_right(name, events, answer):
    output = OUTPUT if name == "plugs" else workload(name).output
    return compare(expected(name, events), answer, output).equal


def small_run(name, events, **how):
    """Return a run that waits to begin, with functions that are compiled once."""
    program, data = program_of(name), input_of(name, events)
    return make_run("dgs", program, data, kernels=kernels_of(name), **how)


def check_run(name, events, **how):
    """Do a run whose answer is right; return what was measured."""
    with closing(small_run(name, events, **how)) as run:
        measured, answer = run.run(), run.answer()
    assert is_right(name, events, answer)
    return measured


def run_in(folder, name, events, *, workers=2, every=1, **how):
    """Do a run in a checkpoint folder whose answer is right; return what was measured."""
    checkpoints = {"checkpoint_every": every, "checkpoint_folder": str(folder)}
    how = {"gather": False, "checkpoint_ms": 0, **checkpoints, **how}
    return check_run(name, events, workers=workers, **how)


def forked(target, *arguments):
    """Start a process with what this one has compiled and generated."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    return process
