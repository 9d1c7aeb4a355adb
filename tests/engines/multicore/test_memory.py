"""Memory for outputs is there before the clock starts, whichever worker needs it."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from streamlab.engines.errors import OutOfMemoryError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.registry import workload
from tests.engines.multicore import memory_limit
from tests.engines.tasks import task_of
from tests.processes import Popen
from tests.workloads.suite.streams import generated

PATIENCE_S = 600
CHUNK_BYTES = 4 << 20
"""core/run/output_pool.h"""

# Each answer fills several chunks. The hand-written joins' would take minutes to do so.
WIDE = {"operators": "sl", "iterations": "1", "tuple_bytes": 1024}
CASES = [
    ("page_view_join", "dgs", 400_000, {}),
    ("forward", "vsn", 60_000, {"copies": 8}),
    ("forward", "sn", 60_000, {"copies": 8}),
    ("forward", "layers", 60_000, {"copies": 8}),
    ("parametric", "ordered", 8_000, WIDE),
    ("parametric", "layers", 8_000, WIDE),
    ("ad_enrichment", "dataflow", 400_000, {}),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Returns a workload, its dataset and its number of outputs; makes each once."""
    kept = {}

    def make(name, events, query):
        if name not in kept:
            subject = workload(name).bound(query)
            defaults = {key: one.default for key, one in subject.parameters.items()}
            data = generated(subject, defaults, events, 1)
            folder = tmp_path_factory.mktemp(name)
            rows = len(subject.oracle(data)["ts"])
            kept[name] = subject, write_dataset(data, subject.input_name, folder), rows
        return kept[name]

    return make


def run(asked, dataset, variant, scratch, *, workers, expected, batch=4096):
    """Return what a run measured, how many rows it gave and its page faults."""
    how = {"workers": workers, "batch": batch, "expected_outputs": expected}
    task = task_of(asked, dataset, scratch, variant, **how)
    prepared = MulticoreEngine().prepare(task)
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        measured = prepared.run()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        return measured, len(prepared.answer()["ts"]), faults
    finally:
        prepared.close()


@pytest.mark.some(7)
@pytest.mark.parametrize(
    ("name", "variant", "events", "query"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
def test_a_run_grows_nothing_where_its_number_of_outputs_is_known_and_counts_what_grows(
    made, tmp_path, name, variant, events, query
):
    asked, dataset, rows = made(name, events, query)
    answer_bytes = rows * np.dtype(asked.program.output).itemsize
    assert answer_bytes > 1.5 * CHUNK_BYTES
    for workers, expected in ((1, rows), (2, rows), (1, None)):
        how = {"workers": workers, "expected": expected}
        measured, got, _ = run(asked, dataset, variant, tmp_path, **how)
        assert got == rows
        grown = measured.counters["outputs_grown"]
        assert grown >= answer_bytes // CHUNK_BYTES if expected is None else grown == 0


def test_notes_on_where_outputs_came_from_need_no_fresh_memory(made, tmp_path):
    asked, dataset, rows = made("page_view_join", 400_000, {})
    # At batch 1 nearly every output has a note of its own: 10 MB, moved whenever a vector grows.
    _, _, faults = run(asked, dataset, "dgs", tmp_path, workers=1, expected=rows, batch=1)
    assert faults < 600


def test_no_more_than_a_quarter_of_the_memory_is_reserved():
    row = np.dtype([("ts", "i8"), ("value", "i4")])
    reserved = RunSettings(expected_outputs=10**15).reserved_rows(row)
    assert 0 < reserved * row.itemsize <= psutil.virtual_memory().total // 4
    assert RunSettings(expected_outputs=1000).reserved_rows(row) == 1000


def said_by_starved(*arguments):
    with Popen(
        [sys.executable, "-m", memory_limit.__name__, *arguments],
        cwd=Path(memory_limit.__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        said, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return said


def test_a_dataflow_operator_without_memory_says_how_many_keys_it_has():
    said = said_by_starved("dataflow")
    table = (
        r"multicore: worker 0: operator distinct partial: out of memory: its table of \d+ keys, "
    )
    assert re.match(rf"{table}\d+ MiB, cannot grow to \d+ MiB; use fewer keys", said), said


@pytest.mark.parametrize(
    ("variant", "thread"), [("vsn", "instance"), ("sn", "instance"), ("layers", "thread")]
)
@pytest.mark.parametrize("windows", memory_limit.WINDOWS)
@pytest.mark.some(2)
def test_a_keyed_operator_without_memory_says_which_window_table_wants_more(
    variant, thread, windows
):
    said = said_by_starved(variant, windows)
    # The earliest that tuples at time 0 are in: all of a key's windows are made at once.
    left = memory_limit.WINDOWS[windows].advance - memory_limit.WINDOWS[windows].size
    which = rf"the window table of bucket \d+, window from {left}, "
    table = rf"operator distinct: out of memory: {which}"
    grow = r"with \d+ keys cannot grow to \d+ bytes; the window tables of instance \d hold \d+ MiB;"
    assert re.match(rf"multicore: {thread} \d: {table}{grow} give fewer keys", said), said


def test_lack_of_memory_is_a_memory_error_without_knowledge_of_engines():
    assert issubclass(OutOfMemoryError, MemoryError)
