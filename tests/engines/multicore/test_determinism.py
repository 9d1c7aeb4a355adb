"""One number of instances gives one sequence of outputs, whatever the threads do meanwhile."""

import pytest

from streamlab.engines.conformance import ordinary_input
from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import Query
from streamlab.workloads.registry import workload
from tests.examples import examples

REPEATS = examples(16)
BUFFERS = ("order", "scalegate")


def trace(query, data, *, instances, batch, tuple_buffer, shared_nothing):
    run = OplusRun(
        query,
        data,
        RunSettings(workers=instances, batch=batch, ring_blocks=16, pin=False, measure=False),
        OplusOptions(tuple_buffer=tuple_buffer, shared_nothing=shared_nothing),
    )
    try:
        run.run()
        return tuple(column.tobytes() for column in run.answer().values())
    finally:
        run.close()


def ways(name):
    keyed = workload(name).program.operators[0].join is None
    return [False, True] if keyed else [False]


@pytest.mark.some(2)
@pytest.mark.parametrize("instances", [4, 1, 2, 8])
@pytest.mark.parametrize("name", ["wordcount", "scale_join"])
def test_repeats_logs_and_batches_give_the_same_trace(name, instances):
    found = workload(name)
    assert isinstance(found.program, Query)
    data = ordinary_input(found)
    for shared_nothing in ways(name):
        seen = {
            trace(
                found.program,
                data,
                instances=instances,
                batch=batch,
                tuple_buffer=tuple_buffer,
                shared_nothing=shared_nothing,
            )
            for tuple_buffer in BUFFERS
            for batch in (1, 64)
            for _ in range(REPEATS)
        }
        assert len(seen) == 1
        assert len(seen.pop()[0]) > 0
