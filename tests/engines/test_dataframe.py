"""The data-frame lines give every oracle's answer, and refuse what they are not written for."""

from pathlib import Path

import numpy as np
import pytest

from streamlab.engines.dataframe import temporary_memory
from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT
from tests.engines.inputs import input_of, tied_input
from tests.engines.tasks import check_task, task_of
from tests.processes import run_python

CUT_BY_MARKERS = [name for name in DataframeEngine.queries if name != "scale_join"]


def task(name, data, folder, workers=1):
    return task_of(name, data, folder, "numpy", workers=workers)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CUT_BY_MARKERS)
def test_ties_empty_streams_and_negative_values_are_as_the_oracle_has_them(name, tmp_path):
    for seed in range(40):
        check_task(DataframeEngine(), task(name, tied_input(name, seed), tmp_path / str(seed)))


def test_the_sorted_band_join_finds_all_pairs_across_its_chunks(tmp_path):
    data = dense_join(rows=20_000)
    chosen = workload("scale_join").bound({"ws_ms": 700})
    given = task(chosen, data, tmp_path)
    _, answer = check_task(DataframeEngine(), given)
    assert len(answer["ts"]) > 1_000


def dense_join(rows):
    """Two streams whose attributes lie so close together that many pairs match."""
    rng = np.random.default_rng(3)
    streams = []
    for kind, fields in enumerate((LEFT, RIGHT)):
        payload = {
            field: rng.integers(1, 600, rows).astype(fields[field]) for field in fields.names
        }
        streams.append((kind, np.sort(rng.integers(0, rows, rows)), payload))
    return input_of(workload("scale_join").program.kinds, *streams)


_FAULTS = """
import resource
import sys
from pathlib import Path
from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.tasks import task_of
import numpy as np

program, rows = workload("page_view_join").program, 500_000
streams = [
    (
        kind,
        np.arange(count) * (rows // count),
        {
            "tag": np.full(count, kind, np.int32),
            **{field: np.zeros(count, program.event[field]) for field in program.event.names},
        },
    )
    for kind, count in ((0, rows), (1, 50))
]
task = task_of(
    "page_view_join",
    input_of(program.kinds, *streams),
    Path(sys.argv[1]),
    "numpy",
    expected_outputs=rows + 50,
)
prepared = DataframeEngine().prepare(task)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
prepared.run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
prepared.close()
"""


@pytest.mark.skipif(temporary_memory.glibc() is None, reason="the C library is not glibc")
def test_temporaries_of_numpy_come_from_memory_that_is_there(tmp_path):
    ended = run_python("-c", _FAULTS, str(tmp_path), cwd=Path(__file__).parents[2], check=True)
    assert int(ended.stdout) < 100
