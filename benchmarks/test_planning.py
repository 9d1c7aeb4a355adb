"""Times planning and due times, which precede a run, with pytest-benchmark: `make bench`."""

import numpy as np
import pytest

from streamlab.lab.load.arrivals import due_times
from streamlab.lab.load.spec import BURSTS, CONSTANT, POISSON, STEP, LoadSpec
from streamlab.workloads.model import Alphabet
from streamlab.workloads.model.dgs.stream_profile import StreamProfile
from streamlab.workloads.optimizers import Costs, PlanRequest, choose, names
from streamlab.workloads.suite.page_view_join.program import PROGRAM

WORKERS = 64
COSTS = Costs(
    update_ns=1,
    order_ns=60,
    fork_join_ns=50,
    handover_ns=200,
    skip_ns=0.3,
    start_ns=50_000,
    cores=64,
)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(("count", "keys"), [(64, 500), (3, 35_000)])
def test_plan_of_many_tags(benchmark, name, count, keys):
    rng = np.random.default_rng(1)
    streams = []
    for number in range(count):
        kind = int(number == count - 1)
        counts = np.zeros((keys, 2), dtype=np.int64)
        counts[:, kind] = np.minimum(rng.zipf(1.5, keys), 10**6)
        streams.append(StreamProfile(name=f"stream-{number}", kinds=(kind,), counts=counts))
    request = PlanRequest(
        program=PROGRAM,
        alphabet=Alphabet(kinds=PROGRAM.kinds, keys=keys),
        streams=tuple(streams),
        workers=WORKERS,
        costs=lambda: COSTS,
    )
    choice = benchmark.pedantic(choose, args=(name, request), rounds=3)
    assert sum(len(tree.keys) for tree in choice.plan.trees) == keys


@pytest.mark.parametrize("arrival", [CONSTANT, POISSON, BURSTS, STEP])
def test_due_times_of_ten_million_events(benchmark, arrival):
    events = 10_000_000
    load = LoadSpec(arrival=arrival, rate_eps=1e6, warm_up_s=5.0, window_s=15.0)
    due = benchmark.pedantic(due_times, args=(load, events), rounds=3)
    assert len(due) == events
