"""The core's structures, timed by pytest-benchmark: `make bench`.

The clock is the benchmarks' own: it runs inside their measured parts only, without set-up and
without the check of the answer, which every round passes or fails.
"""

import pytest

from streamlab.engines.multicore import _bench

ROUNDS = 20
# The first rounds fault their memory in and warm the branch predictor.
WARM_UP_ROUNDS = 2


@pytest.mark.benchmark(timer=_bench.spent_s)
@pytest.mark.parametrize("name", _bench.names())
def test_core(benchmark, name):
    n = _bench.default_n(name)
    benchmark.extra_info.update(n=n, unit=_bench.unit(name))
    benchmark.pedantic(_bench.run, args=(name, n), rounds=ROUNDS, warmup_rounds=WARM_UP_ROUNDS)
