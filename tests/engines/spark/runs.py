"""Runs tasks on Spark, and the steps of generic queries without it, in random micro-batches and groups."""

import pickle
import random

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from streamlab.engines.spark.adapter import SparkEngine
from streamlab.engines.spark.files import END, append_heartbeat, append_row_numbers
from streamlab.engines.spark.generic.segments import segments
from streamlab.engines.spark.generic.steps import Step, initial_state, parcels_of, pieces
from streamlab.engines.spark.generic.tables import ROW, sort_by_place, unpack
from streamlab.engines.spark.generic.task_reference import TaskReference
from streamlab.workloads.datasets.arrow import arrow_array
from streamlab.workloads.model.reference import apply
from streamlab.workloads.model.streams.records import Emitter
from streamlab.workloads.model.streams.total_order import merge
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.spark import programs
from tests.engines.tasks import check_task, task_of

VARIANTS = ("streaming", "batch")
OWN = """
from dataclasses import replace

from streamlab.workloads.suite.keyed_counter import WORKLOAD as COUNTER

SIGN = -1


def update(s, e, out):
    if e.kind == 0:
        s.count += SIGN
    else:
        out.emit(e.ts, e.key, s.count)
        s.count = 0


def oracle(data):
    found = COUNTER.oracle(data)
    return {**found, "count": -found["count"]}


first = replace(COUNTER.program.states[0], update=update)
PROGRAM = replace(COUNTER.program, name="negated", states=(first, *COUNTER.program.states[1:]))
WORKLOAD = replace(COUNTER, name="negated", program=PROGRAM, oracle=oracle, reference="")
"""
"""The text of a file with a workload of its own."""


def spark_task(chosen, data, folder, *, variant="streaming", workers=2, **options):
    """Return a task on an input, written below `folder`; without a warm-up by default."""
    options = {"warm_up_rounds": 0} | options
    return task_of(chosen, data, folder, variant, workers=workers, options=options)


def assert_right(task):
    """Run a task and compare it with the oracle; return the measurements and the number of outputs."""
    measured, answer = check_task(SparkEngine(), task)
    return measured, len(answer["ts"])


def micro_batch_options(variant, count):
    """Return the options for a number of micro-batches; empty for variants without micro-batches."""
    return {"micro_batches": count} if variant.endswith("streaming") else {}


def reference_for(data, workers):
    ends = [int(s.ts[-1]) for s in data.streams if len(s)]
    cut = [] if data.until_ts is None else [data.until_ts - 1]
    return TaskReference(
        alphabet=data.alphabet,
        streams=len(data.streams),
        workers=workers,
        opening=min((int(s.ts[0]) for s in data.streams if len(s)), default=None),
        closing=max(ends + cut) if ends else 0,
        reference="",
        params={},
    )


def table_of(stream):
    columns = {"ts": stream.ts, **({} if stream.tag is None else {"tag": stream.tag})}
    return pa.table({n: arrow_array(c) for n, c in {**columns, **stream.payload}.items()})


def closed(table):
    """Return a stream with numbered rows and the heartbeat that closes it."""
    return append_heartbeat(append_row_numbers(table, ROW), {"ts": END, ROW: len(table)})


def micro_batches(data, cuts):
    """Yield the batches of every stream, micro-batch by micro-batch; each ends elsewhere."""
    whole = [closed(table_of(stream)) for stream in data.streams]
    for turn in range(max(map(len, cuts)) + 1):
        batches = []
        for src, table in enumerate(whole):
            at = [0, *cuts[src], len(table)]
            part = table.slice(at[turn], at[turn + 1] - at[turn])
            batches += [(src, batch) for batch in part.to_batches(max_chunksize=3)]
        yield batches


def run(program, data, workers, cuts, seed):
    """Return the outputs of the steps, in the order of the micro-batches."""
    reference, rng = reference_for(data, workers), random.Random(seed)
    cut = segments(program, data.alphabet, workers)
    kept, answers = {}, []
    for batches in micro_batches(data, cuts):
        parcels = [
            parcel
            for src, batch in batches
            for piece in pieces(batch)
            for parcel in parcels_of(cut, reference.alphabet, data.streams[src].kinds, src, piece)
        ]
        for index in range(len(cut.segments)):
            rng.shuffle(parcels)
            step, made = Step(reference=reference, cut=cut, index=index), []
            for group in {parcel.group for parcel in parcels}:
                own = [parcel for parcel in parcels if parcel.group == group]
                before = kept.get((index, group))
                held = initial_state(reference) if before is None else pickle.loads(before)
                made += step.process(group, held, own, ended=False)
                kept[index, group] = pickle.dumps(held)
            parcels = made
        tables = [unpack(parcel.records) for parcel in parcels]
        if tables:
            answers.append(sort_by_place(tables, cut.segments[-1].places_out))
    output = program.output
    return {
        name: np.concatenate(
            [np.zeros(0, output[name]), *(table[name].to_numpy() for table in answers)]
        ).astype(output[name])
        for name in output.names
    }


def sequential(program, data):
    """Return the answer of a program by its definition."""
    out = Emitter(program.output)
    events = merge(data, program).events(program)
    keys = data.alphabet.keys
    apply(program, events, out, count=data.events, until_ts=data.until_ts, keys=keys)
    return out.columns(program.output)


def drawn_cuts(draw, data):
    return [
        sorted(draw.draw(st.lists(st.integers(0, len(s) + 1), min_size=2, max_size=2)))
        for s in data.streams
    ]


def of_tests(attribute):
    """Return a workload of programs.py."""
    return workload(f"{programs.__file__}:{attribute}")


def ticks(*fields):
    """Return three events with these fields."""
    payload = {name: np.arange(3).astype(of) for name, of in fields}
    return input_of(("tick", "tock", "amount"), (0, np.arange(3), payload))
