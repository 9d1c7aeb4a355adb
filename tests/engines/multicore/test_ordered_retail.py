"""The five TPCx-BB queries, compiled: native pipelines give the oracles' sequences."""

import pytest

from engines.conformance import ordinary_input
from engines.multicore.ordered.run import OrderedRun
from engines.multicore.run.settings import RunSettings
from tests.workloads.suite.streams import generated, rows
from workloads.registry import workload

NAMES = (
    "items_sold_together",
    "items_viewed_together",
    "last_views_before_purchase",
    "cart_abandonment",
    "declining_categories",
)


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_native_pipeline_gives_the_sequence_of_the_oracle(name: str, streams: int):
    chosen = workload(name)
    data = ordinary_input(chosen)
    if streams > 1:
        small = {**chosen.small, "streams": streams}
        data = generated(chosen, small, max(20_000, chosen.small_events), seed=4)
    expected = rows(chosen, chosen.oracle(data))
    assert len(expected) > 1
    for workers, batch in ((1, 64), (2, 7)):
        run = OrderedRun(
            chosen.program, data, RunSettings(workers=workers, batch=batch, ring_blocks=16)
        )
        try:
            run.run()
            assert rows(chosen, run.answer()) == expected
        finally:
            run.close()
