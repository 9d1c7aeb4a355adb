"""Variant `ordered` through the adapter: tasks, options, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.ordered.options import OrderedOptions
from streamlab.engines.protocol import Task, default_variant
from streamlab.engines.small_dataset import write_dataset
from streamlab.engines.small_load import small_load
from streamlab.workloads.model import (
    Alphabet,
    Input,
    OutputType,
    Pipeline,
    Stream,
    Workload,
    partitioned,
    stateless,
)
from streamlab.workloads.model.pipeline.reference import answer
from streamlab.workloads.registry import workload

EVENT = np.dtype([("x", np.int64)])
OUTPUT = np.dtype([("ts", np.int64), ("x", np.int64)])
STATE = np.dtype([("sum", np.int64)])


def double(t, out):
    out.emit(2 * t.x)


def key_of(t):
    return t.x % 5


def add(s, t, out):
    s.sum += t.x
    out.emit(s.sum)


PROGRAM = Pipeline(
    name="running sums",
    record="reading",
    event=EVENT,
    stages=(
        stateless(name="double", output=OUTPUT, apply=double),
        partitioned(name="add", output=OUTPUT, key=key_of, state=STATE, apply=add),
    ),
)
WORKLOAD = Workload(
    name="running_sums",
    title="running sums by residue",
    paper="none: for tests",
    program=PROGRAM,
    output=OutputType(kinds=("sum",), depends=lambda a, b: True),
    parameters={},
    keys=lambda params: 1,
    streams=lambda params, events: (),
    generate=lambda *arguments: {},
    oracle=lambda data: answer(PROGRAM, data),
)
DATA = Input(
    alphabet=Alphabet(kinds=("reading",)),
    streams=tuple(
        Stream(
            name=f"reading-{index}",
            kinds=(0,),
            ts=np.arange(2000, dtype=np.int64) // 3,
            payload={"x": np.arange(2000, dtype=np.int64) * (index + 1)},
        )
        for index in range(2)
    ),
)


@pytest.fixture
def task(tmp_path):
    return Task(
        workload=WORKLOAD,
        dataset=write_dataset(DATA, "running_sums", tmp_path),
        variant="ordered",
        workers=2,
        batch=64,
        scratch=tmp_path,
    )


def test_a_task_gives_the_oracles_sequence(task):
    prepared = MulticoreEngine().prepare(task)
    try:
        measured = prepared.run()
        got = prepared.answer()
    finally:
        prepared.close()
    assert measured.events == 4000
    wanted = WORKLOAD.oracle(DATA)
    assert {name: column.tolist() for name, column in got.items()} == {
        name: column.tolist() for name, column in wanted.items()
    }


def test_a_task_under_a_load_counts_every_event(task):
    load = small_load(
        [stream.ts for stream in DATA.streams], np.arange(4000, dtype=np.int64) * 10_000
    )
    prepared = MulticoreEngine().prepare(replace(task, load=load, options={"scheduler": "lp"}))
    try:
        measured = prepared.run()
        got = prepared.answer()
    finally:
        prepared.close()
    assert got["x"].tolist() == WORKLOAD.oracle(DATA)["x"].tolist()
    assert measured.sent.lag.counts.sum() == 4000
    assert measured.latency.counts.sum() == measured.service_latency.counts.sum() == 4000
    assert measured.progress.emitted.sum() == measured.progress.consumed.sum() == 4000
    assert measured.latency.values_ns.min() > 0


def test_it_is_the_default_variant_of_pipelines_and_of_nothing_else(task):
    engine = MulticoreEngine()
    assert default_variant(engine.variants(), Pipeline).name == "ordered"
    ordered = next(variant for variant in engine.variants() if variant.name == "ordered")
    assert ordered.uses_batch and ordered.takes_load and ordered.models == (Pipeline,)
    assert {name: held.holds for name, held in engine.properties("x", "ordered").items()} == {
        "PIP1": True,
        "PIP2": True,
        "PIP3": True,
    }
    assert engine.unsupported(task) is None
    refused = engine.unsupported(replace(task, variant="vsn"))
    assert refused == "running_sums is an ordered pipeline; give variants = ['ordered']"
    for name, model, other in (
        ("event_window", "a DGS program", "dgs"),
        ("wordcount", "a query of operators O+", "vsn"),
    ):
        refused = engine.unsupported(replace(task, workload=workload(name)))
        assert refused == f"{name} is {model}; give variants = ['{other}']"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"scheduler": "fifo"}, "scheduler is one of ct, ct_input, lp, et, qst, got 'fifo'"),
        ({"worklist": "x"}, "worklist is one of homed, hybrid, partitioned, shared, got 'x'"),
        ({"reordering": "x"}, "reordering is one of nonblocking, lock, got 'x'"),
        ({"serials": "x"}, "serials is one of source, operator, got 'x'"),
        (
            {"serials": "operator", "worklist": "homed"},
            "serials 'operator' go with the worklists hybrid, partitioned, shared, not homed",
        ),
        ({"partitions": 0}, "partitions must be at least 1, got 0"),
        ({"window": 1 << 17}, "window must be at most 65536 units, got 131072"),
        ({"window": 2.5}, "option window takes int, got 2.5"),
        ({"ct_window_us": -1}, "ct_window_us must be at least 1, got -1"),
        ({"qst_capacity": 0}, "qst_capacity must be at least 1, got 0"),
        ({"tuple_buffer": "order"}, "variant ordered has no option 'tuple_buffer'"),
    ],
)
def test_wrong_options_are_refused_with_what_is_right(task, options, reason):
    refused = MulticoreEngine().unsupported(replace(task, options=options))
    assert refused is not None and reason in refused


@pytest.mark.parametrize(
    ("workers", "batch", "units"),
    [(1, 1, 1024), (2, 8, 1024), (2, 64, 128), (2, 4096, 16), (64, 4096, 256)],
)
def test_the_window_holds_some_records_and_some_units_for_each_worker(workers, batch, units):
    assert OrderedOptions().window_for(workers, batch) == units


def test_serials_of_operators_go_with_the_papers_hybrid_queue_unless_another_is_given():
    assert OrderedOptions().queue == "homed"
    assert OrderedOptions(serials="operator").queue == "hybrid"
    assert OrderedOptions(serials="operator", worklist="shared").queue == "shared"
    assert OrderedOptions(serials="operator").units_for(3) == 8
    assert OrderedOptions().units_for(3) == 4


@pytest.mark.parametrize(
    ("worklist", "workers", "partitions"), [("homed", 1, 1), ("homed", 8, 16), ("hybrid", 8, 100)]
)
def test_only_the_worklist_with_homes_bounds_the_partitions(worklist, workers, partitions):
    options = OrderedOptions(worklist=worklist)
    assert options.partitions_of(PROGRAM.stages[1], workers) == partitions
    assert options.partitions_of(PROGRAM.stages[0], workers) == 1


def test_partitions_that_are_given_are_taken_but_for_ranges():
    hashes = PROGRAM.stages[1]
    assert OrderedOptions(partitions=7).partitions_of(hashes, 1) == 7
    assert OrderedOptions(partitions=7).partitions_of(replace(hashes, bounds=(1, 2, 3)), 1) == 4


def test_a_window_that_is_given_is_taken():
    assert OrderedOptions(window=3).window_for(8, 1) == 3
