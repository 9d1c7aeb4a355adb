"""The data-frame lines give every oracle's answer, and refuse what they are not written for."""

import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.dataframe import temporary_memory
from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.registry import workload
from streamlab.workloads.suite.scale_join.generate import LEFT, RIGHT

CUT_BY_MARKERS = [name for name in DataframeEngine.queries if name != "scale_join"]


def task(name, data, folder, workers=1):
    folder.mkdir(parents=True, exist_ok=True)
    return Task(
        workload=workload(name),
        dataset=write_dataset(data, name, folder / "data"),
        variant="numpy",
        workers=workers,
        batch=1,
        scratch=folder,
    )


def random_input(name, seed):
    """Few event times, so that ties are everywhere, negative times and values, empty streams."""
    program = workload(name).program
    rng = np.random.default_rng(seed)
    keys = 3 if program.keyed else 1
    streams = []
    for index, kind in enumerate((0, 1, 0, 1, 0)):
        rows, last = int(rng.integers(0, 60)), int(rng.integers(1, 40))
        streams.append(
            Stream(
                name=f"stream-{index}",
                kinds=(kind,),
                ts=np.sort(rng.integers(-5, last, rows)),
                tag=(kind + 2 * rng.integers(0, keys, rows)).astype(np.int32),
                payload={
                    field: rng.integers(-3000, 3000, rows).astype(program.event[field])
                    for field in program.event.names
                },
            )
        )
    return Input(alphabet=Alphabet(kinds=program.kinds, keys=keys), streams=tuple(streams))


def run_of(given):
    """Run a task and close it: what is not closed has the process keep all memory it frees."""
    with closing(DataframeEngine().prepare(given)) as prepared:
        return prepared.run(), prepared.answer()


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CUT_BY_MARKERS)
def test_ties_empty_streams_and_negative_values_are_as_the_oracle_has_them(name, tmp_path):
    for seed in range(40):
        data = random_input(name, seed)
        measured, answer = run_of(task(name, data, tmp_path / str(seed)))
        difference = compare(workload(name).oracle(data), answer, workload(name).output)
        assert difference.equal, (seed, difference.render())
        assert measured.events == data.events


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_sorted_band_join_conforms(case, tmp_path):
    setting = Setting(variant="numpy", workers=1)
    found = run_case(DataframeEngine(), workload("scale_join"), case, setting, tmp_path)
    assert found.problems == ()
    refused = case.name in ("a single stream", "more workers than streams")
    assert (found.unsupported is not None) == refused


def test_the_sorted_band_join_finds_all_pairs_across_its_chunks(tmp_path):
    data = dense_join(rows=20_000)
    chosen = workload("scale_join").bound({"ws_ms": 700})
    given = replace(task("scale_join", data, tmp_path), workload=chosen)
    _, answer = run_of(given)
    expected = chosen.oracle(data)
    assert len(expected["ts"]) > 1_000
    difference = compare(expected, answer, chosen.output)
    assert difference.equal, difference.render()


def dense_join(rows):
    """Two streams whose attributes lie so close together that many pairs match."""
    rng = np.random.default_rng(3)
    streams = []
    for kind, (name, fields) in enumerate((("left", LEFT), ("right", RIGHT))):
        payload = {
            field: rng.integers(1, 600, rows).astype(fields[field]) for field in fields.names
        }
        ts = np.sort(rng.integers(0, rows, rows))
        streams.append(Stream(name=name, kinds=(kind,), ts=ts, payload=payload))
    kinds = workload("scale_join").program.kinds
    return Input(alphabet=Alphabet(kinds=kinds, keys=1), streams=tuple(streams))


def test_what_no_line_is_written_for_is_refused_with_the_reason(tmp_path):
    data = ordinary_input(workload("wordcount"))
    given = task("wordcount", data, tmp_path)
    assert "dataframe/numpy has no query for wordcount" in DataframeEngine().unsupported(given)
    given = task("event_window", ordinary_input(workload("event_window")), tmp_path, 2)
    assert "dataframe has at most 1 worker, got 2" in DataframeEngine().unsupported(given)


def test_a_stream_that_mixes_kinds_is_refused_by_name(tmp_path):
    data = random_input("event_window", 1)
    both = Stream(
        name="both",
        kinds=(0, 1),
        ts=np.arange(4),
        tag=np.array([0, 1, 0, 1], np.int32),
        payload={"value": np.arange(4)},
    )
    mixed = Input(alphabet=data.alphabet, streams=(*data.streams, both))
    given = task("event_window", mixed, tmp_path)
    assert "stream both carries value and barrier events" in DataframeEngine().unsupported(given)


_FAULTS = """
import resource
import sys
from pathlib import Path
from streamlab.engines.dataframe.adapter import DataframeEngine
from streamlab.engines.protocol import Task
from streamlab.engines.small_dataset import write_dataset
from streamlab.workloads.model import Alphabet, Input, Stream
from streamlab.workloads.registry import workload
import numpy as np

page_view_join, rows = workload("page_view_join"), 500_000
event = page_view_join.program.event
streams = tuple(
    Stream(
        name=f"stream-{kind}",
        kinds=(kind,),
        ts=np.arange(count) * (rows // count),
        tag=np.full(count, kind, np.int32),
        payload={field: np.zeros(count, event[field]) for field in event.names},
    )
    for kind, count in ((0, rows), (1, 50))
)
data = Input(alphabet=Alphabet(kinds=page_view_join.program.kinds, keys=1), streams=streams)
folder = Path(sys.argv[1])
prepared = DataframeEngine().prepare(
    Task(
        workload=page_view_join,
        dataset=write_dataset(data, "page_view_join", folder / "data"),
        variant="numpy",
        workers=1,
        batch=1,
        scratch=folder,
        expected_outputs=rows + 50,
    )
)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
prepared.run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
prepared.close()
"""


@pytest.mark.skipif(not temporary_memory.can_keep(), reason="the C library is not glibc")
def test_temporaries_of_numpy_come_from_memory_that_is_there(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", _FAULTS, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) < 100
