"""The streaming operator's arithmetic, without Spark: micro-batches do not change the answer."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlab.engines.spark.dgs import PAYLOADS, PER_STREAM
from streamlab.engines.spark.files import END
from streamlab.engines.spark.streaming.chunk import Pending, separate
from streamlab.engines.spark.streaming.kernels import KERNELS
from streamlab.engines.spark.workloads import PROGRAMS
from streamlab.workloads.model.answers.trace import compare
from streamlab.workloads.model.streams.strategies import inputs
from streamlab.workloads.registry import workload
from tests.examples import examples

WIDE = st.integers(-3, 3) | st.integers(-(10**9), 10**9)


def columns_of(stream, fields):
    """Return a stream with its closing heartbeat, as `split` writes it."""
    run = {"ts": np.append(stream.ts, END)}
    if stream.tag is not None:
        run["tag"] = np.append(stream.tag, np.int32(0))
    for name in fields:
        values = stream.payload.get(name, np.zeros(len(stream), dtype=np.int64))
        run[name] = np.append(values, values.dtype.type(0))
    if 1 in stream.kinds:
        run["pos"] = np.append(np.arange(len(stream)), END)
    return run


def run_group(name, data, group, cuts):
    """Feed the streams of one group in micro-batches that end at `cuts[src]`."""
    program = workload(name).program
    sources = tuple(
        src
        for src, stream in enumerate(data.streams)
        if name not in PER_STREAM or src == group or 1 in stream.kinds
    )
    whole = {src: columns_of(data.streams[src], program.event.names or ()) for src in sources}
    kinds = tuple(stream.kinds for stream in data.streams)
    pending, held, outputs = Pending(), {"stream": group}, []
    for batch in range(4):
        for src in sources:
            begin, end = [0, *cuts[src], len(whole[src]["ts"])][batch : batch + 2]
            pieces = [
                {key: column[at : at + 3] for key, column in whole[src].items()}
                for at in range(begin, end, 3)
            ]
            pieces = [
                {key: column[: end - begin - 3 * i] for key, column in piece.items()}
                for i, piece in enumerate(pieces)
            ]
            if pieces:
                pending.add(src, pieces[::-1] if 1 in kinds[src] else pieces)
        complete = pending.take(sources)
        if complete:
            prefix = separate(complete, kinds, len(program.kinds), PAYLOADS[name])
            outputs.append(KERNELS[name](held, prefix, data.alphabet.keys))
    return outputs


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_cut_into_micro_batches_gives_the_oracles_answer(name):
    subject = workload(name)
    names = subject.program.output.names
    streams = (
        kinds for count in (1, 2, 3) for kinds in product(subject.program.kinds, repeat=count)
    )
    layouts = [[(kind,) for kind in kinds] for kinds in streams]

    @settings(deadline=None, max_examples=examples(150))
    @given(st.data())
    def holds(draw):
        data = draw.draw(inputs(subject.program, layouts=layouts, max_events=25, values=WIDE))
        cuts = [
            sorted(draw.draw(st.lists(st.integers(0, len(s) + 1), min_size=3, max_size=3)))
            for s in data.streams
        ]
        groups = range(len(data.streams)) if name in PER_STREAM else (0,)
        outputs = [out for group in groups for out in run_group(name, data, group, cuts)]
        empty = [{field: np.zeros(0, np.int64) for field in (*names, "src")}]
        columns = {
            field: np.concatenate([out[field] for out in outputs or empty])
            for field in (*names, "src")
        }
        order = np.lexsort((columns["src"], columns["ts"]))
        answer = {
            field: columns[field][order].astype(subject.program.output[field]) for field in names
        }
        difference = compare(subject.oracle(data), answer, subject.output)
        assert difference.equal, difference.render()

    holds()
