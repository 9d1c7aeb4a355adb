"""Times the core's data structures with pytest-benchmark: `make bench`.

The clock is that of the benchmarks: it excludes set-up and the check of the answer.
"""

import pytest

from streamlab.engines.multicore import _bench

ROUNDS = 20
# The first rounds cause page faults and warm the branch predictor.
WARM_UP_ROUNDS = 2


@pytest.mark.benchmark(timer=_bench.spent_s)
@pytest.mark.parametrize("name", _bench.names())
def test_core(benchmark, name):
    n = _bench.default_n(name)
    benchmark.extra_info.update(n=n, unit=_bench.unit(name))
    benchmark.pedantic(_bench.run, args=(name, n), rounds=ROUNDS, warmup_rounds=WARM_UP_ROUNDS)
